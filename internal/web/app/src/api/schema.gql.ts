// Written by scripts/codegen.mjs; do not edit.
/** Which types an interface or a union stands for. */
export const possibleTypes = {
  "FeedUpdate": [
    "FeedNoteAdded",
    "FeedNoteRemoved",
    "FeedReady",
    "FeedResync"
  ],
  "Node": [
    "User",
    "Comment",
    "Note",
    "Order",
    "ShopType",
    "Shop",
    "OrdinaryVoucher",
    "FlashVoucher"
  ],
  "Voucher": [
    "OrdinaryVoucher",
    "FlashVoucher"
  ]
}

/** Types without an id: parts of what they hang on. */
export const parts = [
  "SendLoginCodePayload",
  "LoginPayload",
  "LogoutPayload",
  "SetPasswordPayload",
  "UpdateProfilePayload",
  "CacheStats",
  "HotKey",
  "CheckInMonth",
  "CheckInPayload",
  "CommentConnection",
  "CommentEdge",
  "AddCommentPayload",
  "LikeCommentPayload",
  "UnlikeCommentPayload",
  "FeedConnection",
  "FeedEdge",
  "FeedNoteAdded",
  "FeedNoteRemoved",
  "FeedReady",
  "FeedResync",
  "UserConnection",
  "UserEdge",
  "FollowPayload",
  "UnfollowPayload",
  "UploadImagePayload",
  "NoteConnection",
  "NoteEdge",
  "PublishNotePayload",
  "DeleteNotePayload",
  "LikeNotePayload",
  "UnlikeNotePayload",
  "OrderConnection",
  "OrderEdge",
  "DaySales",
  "OrderVoucherPayload",
  "PayOrderPayload",
  "CancelOrderPayload",
  "RefundOrderPayload",
  "RedeemOrderPayload",
  "QueueStats",
  "PageInfo",
  "UserError",
  "Location",
  "Image",
  "ShopConnection",
  "ShopEdge",
  "CreateShopPayload",
  "UpdateShopPayload",
  "VisitStats",
  "FlashSale",
  "FlashVoucherConnection",
  "FlashVoucherEdge",
  "CreateVoucherPayload",
  "CreateFlashVoucherPayload",
  "UpdateVoucherPayload",
  "UpdateFlashVoucherPayload"
] as const
