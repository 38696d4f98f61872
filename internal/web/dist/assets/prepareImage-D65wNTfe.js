import{s as e}from"./Button-BJNnZ8XN.js";import{g as t,m as n,t as r}from"./document-D_a4HVPm.js";import{i}from"./session-JQV9-zIN.js";import{a,o}from"./useApiQuery-DhNs3sUT.js";import{Y as s}from"./app-B0ZPWHu3.js";var c={name:`image-plus`,size:24,node:[[`path`,{d:`M16 5h6`,key:`1vod17`}],[`path`,{d:`M19 2v6`,key:`4bpg5p`}],[`path`,{d:`M21 11.5V19a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h7.5`,key:`1ue2ih`}],[`path`,{d:`m21 15-3.086-3.086a2 2 0 0 0-2.828 0L6 21`,key:`1xmnt7`}],[`circle`,{cx:`9`,cy:`9`,r:`2`,key:`af1f0g`}]]};c.node;var l=e(c),u=r(`a4647189092a77f0cdbd4b0fc546fc7dd0c1b065584af0f803aa06f3f4c8f743`,`mutation UploadImage($file: Upload!) {
  uploadImage(file: $file) {
    image {
      url
      width
      height
      thumbnailUrl
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
  retryAfterSeconds
  __typename
}`);function d(e,r,{onProgress:i,signal:c}){let l=new FormData,d=t(u);return l.append(`operations`,JSON.stringify({query:d,variables:{file:null}})),l.append(`map`,JSON.stringify({0:[`variables.file`]})),l.append(`0`,e,`picture`),new Promise(e=>{let t=performance.now(),u=new XMLHttpRequest;u.open(`POST`,`/graphql`),u.responseType=`json`,u.timeout=3e5;for(let[e,t]of Object.entries(s(r)))u.setRequestHeader(e,t);let d=()=>{c.aborted||o(),e({error:new n({networkError:Error(`no answer`)})})};u.upload.addEventListener(`progress`,({loaded:e,total:t})=>{t>0&&i(e/t)}),u.addEventListener(`error`,d),u.addEventListener(`timeout`,d),u.addEventListener(`abort`,d),u.addEventListener(`load`,()=>{let i=u.response;typeof i!=`object`||!i?u.status>=500?d():e({error:new n({graphQLErrors:[`refused`]})}):(a(t),e(f(i,r)))}),c.addEventListener(`abort`,()=>u.abort(),{once:!0}),u.send(l)})}function f({data:e,errors:t},r){t?.some(({extensions:e})=>e?.code===`UNAUTHENTICATED`)&&i(r.token);let a=e?.uploadImage;if(a?.image)return{image:a.image};let[o]=a?.userErrors??[];return o?{userError:o}:{error:new n({graphQLErrors:[...t??[]]})}}var p=1600,m=.86,h=240,g=1e7;async function _(e){try{let t=await createImageBitmap(e);try{let n=x(t,p),r=!await y(e)&&b(n)?`image/png`:`image/jpeg`,i=x(t,h).toDataURL(r,.7),a=await v(n,r);for(let e=p/2;a!==null&&a.size>g&&e>100;e/=2)a=await v(x(t,e),r);return{file:a!==null&&a.size<e.size?a:e,preview:i}}finally{t.close()}}catch{return{file:e,preview:null}}}function v(e,t){return new Promise(n=>{e.toBlob(n,t,m)})}async function y(e){let[t,n]=new Uint8Array(await e.slice(0,2).arrayBuffer());return t===255&&n===216}function b(e){let{data:t}=S(e).getImageData(0,0,e.width,e.height);for(let e=3;e<t.length;e+=4)if(t[e]!==255)return!0;return!1}function x(e,t){let n=Math.min(1,t/Math.max(e.width,e.height)),r=document.createElement(`canvas`);return r.width=Math.max(1,Math.round(e.width*n)),r.height=Math.max(1,Math.round(e.height*n)),S(r).drawImage(e,0,0,r.width,r.height),r}function S(e){let t=e.getContext(`2d`);if(t===null)throw Error(`no canvas`);return t}export{d as n,l as r,_ as t};