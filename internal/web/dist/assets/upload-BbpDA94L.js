import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t}from"./preload-helper-Chrg9qMa.js";import{l as n}from"./Screen-C350eDAS.js";import{t as r}from"./document-BthJQ_51.js";import{h as i}from"./app-DRkv9LCR.js";var a={name:`image-plus`,size:24,node:[[`path`,{d:`M16 5h6`,key:`1vod17`}],[`path`,{d:`M19 2v6`,key:`4bpg5p`}],[`path`,{d:`M21 11.5V19a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h7.5`,key:`1ue2ih`}],[`path`,{d:`m21 15-3.086-3.086a2 2 0 0 0-2.828 0L6 21`,key:`1xmnt7`}],[`circle`,{cx:`9`,cy:`9`,r:`2`,key:`af1f0g`}]]};a.node;var o=n(a),s=e(t(),1),c=r(`3f623f5755a4acace6b3998f32a580df67b472a9463385d488f0f19a5ae1302c`,`mutation UploadPicture($file: Upload!) {
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
}`),l=1600;function u(){let[e]=i(c),[t,n]=(0,s.useState)(0);return[async t=>{n(e=>e+1);let r=await e({file:await d(t)});return n(e=>e-1),r.ok?r.value.image:null},t>0]}async function d(e){try{let t=await createImageBitmap(e,{imageOrientation:`from-image`}),n=l/Math.max(t.width,t.height);if(n>=1)return e;let r=document.createElement(`canvas`);r.width=Math.round(t.width*n),r.height=Math.round(t.height*n);let i=r.getContext(`2d`);if(!i)return e;i.fillStyle=`#fff`,i.fillRect(0,0,r.width,r.height),i.drawImage(t,0,0,r.width,r.height),t.close();let a=await new Promise(e=>r.toBlob(e,`image/jpeg`,.9));return a===null?e:new File([a],`picture.jpg`,{type:a.type})}catch{return e}}export{o as n,u as t};