import { Module } from '@nestjs/common';
import { readSettings, SETTINGS } from './settings.js';

@Module({
  providers: [{ provide: SETTINGS, useFactory: () => readSettings(process.env) }],
  exports: [SETTINGS],
})
export class SettingsModule {}
