import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t}from"./preload-helper-Chrg9qMa.js";import{D as n}from"./app-C_ToAT57.js";import{t as r}from"./document-bm9CNBvx.js";var i=e(t(),1),a=r(`3f623f5755a4acace6b3998f32a580df67b472a9463385d488f0f19a5ae1302c`,`mutation UploadPicture($file: Upload!) {
  uploadImage(file: $file) {
    image {
      url
      thumbnailUrl
      width
      height
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),o=1600;function s(){let[e]=n(a),[t,r]=(0,i.useState)(0);return[async t=>{r(e=>e+1);let n=await e({file:await c(t)});return r(e=>e-1),n.ok?n.value.image:null},t>0]}async function c(e){try{let t=await createImageBitmap(e,{imageOrientation:`from-image`}),n=o/Math.max(t.width,t.height);if(n>=1)return e;let r=document.createElement(`canvas`);r.width=Math.round(t.width*n),r.height=Math.round(t.height*n);let i=r.getContext(`2d`);if(!i)return e;i.fillStyle=`#fff`,i.fillRect(0,0,r.width,r.height),i.drawImage(t,0,0,r.width,r.height),t.close();let a=await new Promise(e=>r.toBlob(e,`image/jpeg`,.9));return a===null?e:new File([a],`picture.jpg`,{type:a.type})}catch{return e}}export{s as t};