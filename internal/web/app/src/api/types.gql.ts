// Written by scripts/codegen.mjs; do not edit.
export type Role =
  | 'CUSTOMER'
  | 'MERCHANT'
  | 'ADMIN';

export type Gender =
  | 'UNSPECIFIED'
  | 'MALE'
  | 'FEMALE';

export type LoginInput = {
  readonly phone: string;
  readonly code?: string | null | undefined;
  readonly password?: string | null | undefined;
};

export type UpdateProfileInput = {
  readonly nickname?: string | null | undefined;
  readonly avatarUrl?: string | null | undefined;
  readonly city?: string | null | undefined;
  readonly bio?: string | null | undefined;
  readonly gender?: Gender | null | undefined;
  readonly birthday?: string | null | undefined;
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
  | 'INSUFFICIENT_BALANCE'
  | 'ORDER_NOT_REFUNDABLE'
  | 'ORDER_NOT_REDEEMABLE'
  | 'ORDER_NOT_DISPUTABLE'
  | 'OWN_SHOP'
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

export type LocationInput = {
  readonly lat: number;
  readonly lng: number;
};

export type CreateShopInput = {
  readonly name: string;
  readonly typeId: string;
  readonly images?: ReadonlyArray<string>;
  readonly area?: string | null | undefined;
  readonly address: string;
  readonly location: LocationInput;
  readonly avgPrice?: number | null | undefined;
  readonly openHours?: string | null | undefined;
};

export type UpdateShopInput = {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly typeId?: string | null | undefined;
  readonly images?: ReadonlyArray<string> | null | undefined;
  readonly area?: string | null | undefined;
  readonly address?: string | null | undefined;
  readonly location?: LocationInput | null | undefined;
  readonly avgPrice?: number | null | undefined;
  readonly openHours?: string | null | undefined;
};

export type VoucherStatus =
  | 'ON_SALE'
  | 'OFF_SALE'
  | 'EXPIRED';

export type SalePhase =
  | 'UPCOMING'
  | 'OPEN'
  | 'SOLD_OUT'
  | 'ENDED';

export type CreateVoucherInput = {
  readonly shopId: string;
  readonly title: string;
  readonly subTitle?: string | null | undefined;
  readonly rules?: string | null | undefined;
  readonly payValue: number;
  readonly faceValue: number;
  readonly onePerUser?: boolean;
};

export type CreateFlashVoucherInput = {
  readonly shopId: string;
  readonly title: string;
  readonly subTitle?: string | null | undefined;
  readonly rules?: string | null | undefined;
  readonly payValue: number;
  readonly faceValue: number;
  readonly stock: number;
  readonly beginsAt: string;
  readonly endsAt: string;
};

export type UpdateVoucherInput = {
  readonly id: string;
  readonly title?: string | null | undefined;
  readonly subTitle?: string | null | undefined;
  readonly rules?: string | null | undefined;
  readonly status?: VoucherStatus | null | undefined;
};

export type UpdateFlashVoucherInput = {
  readonly id: string;
  readonly title?: string | null | undefined;
  readonly subTitle?: string | null | undefined;
  readonly rules?: string | null | undefined;
  readonly status?: VoucherStatus | null | undefined;
  readonly stockDelta?: number | null | undefined;
  readonly beginsAt?: string | null | undefined;
  readonly endsAt?: string | null | undefined;
};
