import{t as e}from"./document-D_a4HVPm.js";var t=e(`d1dc012c35ec87af789bc642bdd1e747e896f1042299c5d16a5dda341f185d39`,`query ShopTypes {
  shopTypes {
    id
    name
    iconUrl
    sort
    __typename
  }
}`);export{t};