/** Where a voucher of either kind is shown. */
export function voucherPath(of: {
  readonly kind: 'FlashVoucher' | 'OrdinaryVoucher'
  readonly id: string
}): string {
  return `/${of.kind === 'FlashVoucher' ? 'sales' : 'vouchers'}/${of.id}`
}
