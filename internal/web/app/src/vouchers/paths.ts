/** Returns the path of a voucher's screen. */
export function voucherPath(of: {
  readonly kind: 'FlashVoucher' | 'OrdinaryVoucher'
  readonly id: string
}): string {
  return `/${of.kind === 'FlashVoucher' ? 'sales' : 'vouchers'}/${of.id}`
}
