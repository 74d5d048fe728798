/** A payment as it stands in the input topic. Public fields are what Jackson binds fastest. */
public final class Payment {
  public String eventId;
  public String account;
  public long amount;
  public String currency;
}
