// Written by scripts/codegen.mjs; do not edit.
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
