# syntax=docker/dockerfile:1
# The ledger and its load generator. What goes in is decided by deploy/build.sh, which `npm test` runs as well.
#   docker build -t tally-ledger .

FROM node:24-bookworm AS build
WORKDIR /source
COPY . .
# Downloads the native client for this libc, or builds it from its source: then it wants the libraries that the next stage installs too.
RUN deploy/build.sh /opt/tally

FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends libjemalloc2 libcurl4 libssl3 libsasl2-2 libzstd1 zlib1g liblz4-1 \
  && rm -rf /var/lib/apt/lists/* \
  # The allocator's folder is named after the processor; preloading needs one path for all of them.
  && ln -s "$(find /usr/lib -name 'libjemalloc.so.2' | head -n 1)" /usr/lib/libjemalloc.so \
  && mkdir -p /var/lib/tally && chown node:node /var/lib/tally
COPY --from=build /opt/tally /opt/tally
WORKDIR /opt/tally
USER node
# Many small buffers of several threads: what an allocator is made for. Consuming, committing and LevelDB share libuv's pool. Of a record's
# short-lived objects fewer are copied with a larger young generation.
ENV NODE_ENV=production \
    LD_PRELOAD=/usr/lib/libjemalloc.so \
    MALLOC_CONF=narenas:1 \
    UV_THREADPOOL_SIZE=16 \
    NODE_OPTIONS=--max-semi-space-size=64 \
    STATE_DIRECTORY=/var/lib/tally \
    PORT=3000
VOLUME /var/lib/tally
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/apps/ledger/main.js"]
