// Written by scripts/codegen.mjs; do not edit.
export type Role =
  | 'CUSTOMER'
  | 'MERCHANT'
  | 'ADMIN';

export type LoginInput = {
  readonly phone: string;
  readonly code?: string | null | undefined;
  readonly password?: string | null | undefined;
};

export type AddCommentInput = {
  readonly noteId: string;
  readonly parentId?: string | null | undefined;
  readonly content: string;
};

export type PublishNoteInput = {
  readonly shopId: string;
  readonly title: string;
  readonly content: string;
  readonly images?: ReadonlyArray<string>;
};

export type OrderStatus =
  | 'QUEUED'
  | 'UNPAID'
  | 'PAID'
  | 'USED'
  | 'CANCELLED'
  | 'REFUNDING'
  | 'REFUNDED'
  | 'FAILED';

export type PayMethod =
  | 'BALANCE'
  | 'ALIPAY'
  | 'WECHAT';

export type ErrorCode =
  | 'INVALID_PHONE'
  | 'INVALID_CODE'
  | 'INVALID_CREDENTIALS'
  | 'CODE_THROTTLED'
  | 'NOT_FOUND'
  | 'INVALID_INPUT'
  | 'IMAGE_REJECTED'
  | 'SALE_NOT_STARTED'
  | 'SALE_ENDED'
  | 'OUT_OF_STOCK'
  | 'ALREADY_ORDERED'
  | 'ORDER_NOT_PAYABLE'
  | 'ORDER_NOT_CANCELLABLE'
  | 'ORDER_NOT_REFUNDABLE'
  | 'ORDER_NOT_REDEEMABLE'
  | 'VOUCHER_OFF_SALE'
  | 'VOUCHER_IN_USE'
  | 'ORDER_NOT_COMPLETED'
  | 'CANNOT_FOLLOW_SELF'
  | 'LIMIT_REACHED';

export type NearInput = {
  readonly lat: number;
  readonly lng: number;
  readonly radius?: number;
};

export type ShopFilter = {
  readonly typeId?: string | null | undefined;
  readonly search?: string | null | undefined;
};

export type ShopOrder =
  | 'DISTANCE'
  | 'SCORE'
  | 'SOLD'
  | 'NEWEST';

export type VoucherStatus =
  | 'ON_SALE'
  | 'OFF_SALE'
  | 'EXPIRED';

export type SalePhase =
  | 'UPCOMING'
  | 'OPEN'
  | 'SOLD_OUT'
  | 'ENDED';
