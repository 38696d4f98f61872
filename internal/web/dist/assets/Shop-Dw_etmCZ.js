import{t as e}from"./clock-7q5DaroX.js";import{B as t,C as n,P as r,_ as i,f as a,g as o,h as s,i as c,p as l,u,z as d}from"./app-VJxpKxNi.js";import{_ as f,c as p,m,t as h,u as g}from"./Screen-CJ1iDuWr.js";import{t as _}from"./errors-DTJNFjfx.js";import{t as v}from"./useApiQuery-DhNs3sUT.js";import{i as y,r as b}from"./preload-helper-DXbBgPnf.js";import{NotFound as x}from"./NotFound-B13sP8Kt.js";import{t as S}from"./document-D_a4HVPm.js";import{t as C}from"./Gallery-gpUOzXlS.js";import{t as w}from"./ticket-Bgz6W6uf.js";var T={name:`navigation`,size:24,node:[[`polygon`,{points:`3 11 22 2 13 21 11 13 3 11`,key:`1ltx0t`}]]};T.node;var E=m(T),D={name:`pen-line`,size:24,node:[[`path`,{d:`M13 21h8`,key:`1jsn5i`}],[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}]],aliases:[`edit-3`]};D.node;var O=m(D),k={name:`shopping-bag`,size:24,node:[[`path`,{d:`M16 10a4 4 0 0 1-8 0`,key:`1ltviw`}],[`path`,{d:`M3.103 6.034h17.794`,key:`awc11p`}],[`path`,{d:`M3.4 5.467a2 2 0 0 0-.4 1.2V20a2 2 0 0 0 2 2h14a2 2 0 0 0 2-2V6.667a2 2 0 0 0-.4-1.2l-2-2.667A2 2 0 0 0 17 2H7a2 2 0 0 0-1.6.8z`,key:`o988cm`}]]};k.node;var A=m(k);function j(e,t){return{x:(e.lng-t.lng)*Math.cos(t.lat*Math.PI/180)*111320,y:(t.lat-e.lat)*110540}}var M=120,N=[20,50,100,200,500,1e3];function P(e,{width:t,height:n,margin:r}){let i=t=>Math.max(M,...e.map(e=>Math.abs(e[t]))),a=Math.min((t/2-r)/i(`x`),(n/2-r)/i(`y`));return{scale:a,bar:Math.max(N[0],...N.filter(e=>e*a<=t/3))}}var F=12;function I(e,t,n,r){let i=e.map(({x:e,y:t})=>({x:e,y:t})),a=i.slice(0,n);for(let e=0;e<F;e++)for(let[e,n]of a.entries()){let i=Math.hypot(n.x-t.x,n.y-t.y);if(i<r){let e=i===0?0:r/i;n.x=i===0?t.x+r:t.x+(n.x-t.x)*e,n.y=t.y+(n.y-t.y)*e}for(let t of a.slice(e+1)){let[e,i]=[t.x-n.x,t.y-n.y],a=Math.hypot(e,i);if(a>=r)continue;let[o,s]=a===0?[1,0]:[e/a,i/a],c=(r-a)/2;n.x-=o*c,n.y-=s*c,t.x+=o*c,t.y+=s*c}}return i}var L=S(`b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4`,`query Neighbours($near: NearInput!) {
  shops(near: $near, first: 31) {
    edges {
      distance
      node {
        id
        name
        location {
          lat
          lng
          __typename
        }
        type {
          id
          name
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}`),R={place:`_place_jg0h1_1`,map:`_map_jg0h1_8`,ring:`_ring_jg0h1_22`,target:`_target_jg0h1_28`,dot:`_dot_jg0h1_32`,near:`_near_jg0h1_38`,far:`_far_jg0h1_53`,here:`_here_jg0h1_69`,middle:`_middle_jg0h1_79`,bar:`_bar_jg0h1_84`,north:`_north_jg0h1_90`,go:`_go_jg0h1_94`,degrees:`_degrees_jg0h1_105`,list:`_list_jg0h1_113`,number:`_number_jg0h1_140`,what:`_what_jg0h1_152`,metres:`_metres_jg0h1_159`},z=y(),B=g({map:e=>`Map around ${e}`,north:`N`,go:`Open in maps`,near:`Nearby shops`,alone:`No other shops nearby`},{map:e=>`${e} 周边地图`,north:`北`,go:`在地图应用中打开`,near:`附近店铺`,alone:`附近没有其他店铺。`}),V=600,H=6,U={width:360,height:320,margin:22},W={x:U.width/2,y:U.height/2};function G({shop:e}){let t=B(),{distance:n}=r(),i=a(),{lat:o,lng:s}=e.location,[{data:c}]=v({query:L,variables:{near:{lat:o,lng:s,radius:V}},requestPolicy:`cache-first`}),l=(c?.shops.edges??[]).filter(({node:t})=>t.id!==e.id).slice(0,30).map(({node:t,distance:n},r)=>({shop:t,at:j(t.location,e.location),distance:n??0,index:r})),{scale:u,bar:d}=P(l.map(e=>e.at),U),p=d*u,m=I(l.map(({at:e})=>({x:W.x+e.x*u,y:W.y+e.y*u})),W,H,21),h={x:16,y:U.height-16};return(0,z.jsxs)(`div`,{className:R.place,children:[(0,z.jsxs)(`svg`,{className:R.map,viewBox:`0 0 ${U.width} ${U.height}`,role:`group`,"aria-label":t.map(b(e.name)),"data-neighbours":c?l.length:void 0,children:[[d,d*2,d*3].map(e=>(0,z.jsx)(`circle`,{className:R.ring,cx:W.x,cy:W.y,r:e*u},e)),[...l].reverse().map(({shop:{id:e,name:t},distance:r,index:i})=>{let a=`${b(t)}, ${n(r)}`,{x:o,y:s}=m[i];return(0,z.jsxs)(f,{href:`/shops/${e}`,className:i<H?R.near:R.far,"aria-label":i<H?`${i+1} ${a}`:a,children:[(0,z.jsx)(`title`,{children:a}),(0,z.jsxs)(`g`,{transform:`translate(${o} ${s})`,children:[(0,z.jsx)(`circle`,{className:R.target,r:`14`}),(0,z.jsx)(`circle`,{className:R.dot,r:i<H?10:5}),i<H&&(0,z.jsx)(`text`,{"aria-hidden":`true`,y:`4`,children:i+1})]})]},e)}),(0,z.jsxs)(`g`,{className:R.here,transform:`translate(${W.x} ${W.y})`,"aria-hidden":`true`,children:[(0,z.jsx)(`circle`,{r:`10`}),(0,z.jsx)(`circle`,{className:R.middle,r:`4`})]}),(0,z.jsxs)(`g`,{className:R.bar,"aria-hidden":`true`,children:[(0,z.jsx)(`path`,{d:`M${h.x} ${h.y-6}V${h.y}H${h.x+p}V${h.y-6}`}),(0,z.jsx)(`text`,{x:h.x+p/2,y:h.y-6,children:n(d)})]}),(0,z.jsxs)(`g`,{className:R.north,"aria-hidden":`true`,transform:`translate(${U.width-22} 16)`,children:[(0,z.jsx)(`path`,{d:`M0 0L6 16L0 12L-6 16Z`}),(0,z.jsx)(`text`,{y:`29`,children:t.north})]})]}),(0,z.jsxs)(`a`,{className:R.go,href:`geo:${o},${s}?q=${o},${s}(${encodeURIComponent(e.name)})`,children:[(0,z.jsx)(E,{"aria-hidden":`true`,size:18}),t.go,(0,z.jsxs)(`span`,{className:R.degrees,children:[o.toFixed(5),`, `,s.toFixed(5)]})]}),c&&(0,z.jsxs)(`div`,{className:R.list,children:[(0,z.jsx)(`h3`,{children:t.near}),l.length===0&&(0,z.jsx)(`p`,{children:t.alone}),(0,z.jsx)(`ol`,{children:l.slice(0,H).map(({shop:{id:e,name:t,type:r},distance:a,index:o})=>(0,z.jsxs)(`li`,{children:[(0,z.jsx)(`span`,{"aria-hidden":`true`,className:R.number,children:o+1}),(0,z.jsx)(f,{href:`/shops/${e}`,dir:`auto`,children:t}),(0,z.jsx)(`span`,{className:R.what,dir:`auto`,children:i(r.name)}),(0,z.jsx)(`span`,{className:R.metres,children:n(a)})]},e))})]})]})}var K={card:`_card_192v8_1`,price:`_price_192v8_15`,text:`_text_192v8_36`,tag:`_tag_192v8_44`,link:`_link_192v8_52`,sub:`_sub_192v8_63`},q=g({voucher:`Voucher`,value:e=>`${e} value`,limit:`Limit 1 per customer`,unavailable:`Unavailable`},{voucher:`代金券`,value:e=>`面值 ${e}`,limit:`每人限购 1 张`,unavailable:`已下架`});function J({voucher:e}){let t=q(),{money:n}=r();return(0,z.jsxs)(`article`,{className:K.card,"data-voucher":e.id,children:[(0,z.jsxs)(`p`,{className:K.price,children:[(0,z.jsx)(`strong`,{children:n(e.payValue)}),(0,z.jsx)(`span`,{children:t.value(n(e.faceValue))})]}),(0,z.jsxs)(`div`,{className:K.text,children:[(0,z.jsxs)(`p`,{className:K.tag,children:[(0,z.jsx)(w,{"aria-hidden":`true`,size:16}),t.voucher,e.onePerUser&&(0,z.jsxs)(`span`,{children:[`· `,t.limit]}),e.status!==`ON_SALE`&&(0,z.jsxs)(`span`,{children:[`· `,t.unavailable]})]}),(0,z.jsx)(`h3`,{dir:`auto`,children:(0,z.jsx)(f,{href:`/vouchers/${e.id}`,className:K.link,children:e.title})}),e.subTitle!==null&&(0,z.jsx)(`p`,{className:K.sub,dir:`auto`,children:e.subTitle})]})]})}var Y=S(`5d7f07abe31ca6467522d07f214ba0a1dabcc8b3913986811189db5a3f727583`,`query Shop($id: ID!) {
  shop(id: $id) {
    id
    name
    area
    address
    openHours
    avgPrice
    score
    sold
    commentCount
    images {
      url
      thumbnailUrl
      width
      height
      __typename
    }
    location {
      lat
      lng
      __typename
    }
    type {
      id
      name
      __typename
    }
    vouchers {
      id
      ... on OrdinaryVoucher {
        ...VoucherCard
        __typename
      }
      ... on FlashVoucher {
        ...SaleCard
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment VoucherCard on OrdinaryVoucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  onePerUser
  __typename
}
fragment SaleCard on FlashVoucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  sale {
    ...SaleState
    __typename
  }
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}`),X=S(`9dfa3c18b571acefebbad1a835d89ae54bd1914d2451cce83d3e11ed3578734e`,`query ShopNotes($id: ID!, $after: Cursor) {
  shop(id: $id) {
    id
    notes(first: 10, after: $after) {
      edges {
        node {
          ...NoteCard
          __typename
        }
        __typename
      }
      pageInfo {
        ...Page
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment NoteCard on Note {
  id
  title
  content
  likeCount
  commentCount
  isLiked
  createdAt
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),Z={layout:`_layout_1lni3_1`,head:`_head_1lni3_7`,card:`_card_1lni3_14`,facts:`_facts_1lni3_23`,figures:`_figures_1lni3_24`,details:`_details_1lni3_46`,area:`_area_1lni3_64`,side:`_side_1lni3_70`,list:`_list_1lni3_82`,none:`_none_1lni3_87`,notes:`_notes_1lni3_91`,heading:`_heading_1lni3_96`},Q=g({title:`Shop`,pictures:e=>`Photos of ${e}`,perPerson:e=>`${e} per person`,comments:e=>e===`1`?`1 comment`:`${e} comments`,sold:e=>e===`1`?`1 voucher sold`:`${e} vouchers sold`,address:`Address`,hours:`Opening hours`,vouchers:`Vouchers`,noVouchers:`No vouchers right now`,where:`Location`,notes:`Notes`,noNotes:`No notes about this shop yet. Write the first one.`,write:`Write a note`},{title:`店铺`,pictures:e=>`${e} 的图片`,perPerson:e=>`人均 ${e}`,comments:e=>`${e} 条评论`,sold:e=>`已售 ${e} 张`,address:`地址`,hours:`营业时间`,vouchers:`代金券`,noVouchers:`暂无代金券。`,where:`位置`,notes:`笔记`,noNotes:`还没有人写过这家店，来写第一篇吧。`,write:`写笔记`});function $({id:f}){let m=Q(),{money:g,number:y}=r(),S=a(),[{data:w,error:T},E]=v({query:Y,variables:{id:f}}),D=w?.shop;return D?(0,z.jsx)(h,{title:D.name,backTo:`/`,children:(0,z.jsxs)(`div`,{className:Z.layout,"data-shop":f,children:[(0,z.jsxs)(`div`,{className:Z.head,children:[D.images.length>0&&(0,z.jsx)(C,{label:m.pictures(b(D.name)),images:D.images,ratio:3/2}),(0,z.jsxs)(`div`,{className:Z.card,children:[(0,z.jsxs)(`p`,{className:Z.facts,children:[(0,z.jsx)(l,{value:D.score}),(0,z.jsx)(`span`,{dir:`auto`,children:S(D.type.name)}),D.avgPrice!==null&&(0,z.jsx)(`span`,{children:m.perPerson(g(D.avgPrice))})]}),(0,z.jsxs)(`p`,{className:Z.figures,children:[(0,z.jsxs)(`span`,{children:[(0,z.jsx)(d,{"aria-hidden":`true`,size:18}),m.comments(y(D.commentCount))]}),(0,z.jsxs)(`span`,{children:[(0,z.jsx)(A,{"aria-hidden":`true`,size:18}),m.sold(y(D.sold))]})]}),(0,z.jsxs)(`dl`,{className:Z.details,children:[(0,z.jsxs)(`div`,{children:[(0,z.jsxs)(`dt`,{children:[(0,z.jsx)(t,{"aria-hidden":`true`,size:18}),(0,z.jsx)(`span`,{className:`visually-hidden`,children:m.address})]}),(0,z.jsxs)(`dd`,{children:[(0,z.jsx)(`bdi`,{children:D.address}),D.area!==null&&(0,z.jsx)(`span`,{className:Z.area,dir:`auto`,children:D.area})]})]}),D.openHours!==null&&(0,z.jsxs)(`div`,{children:[(0,z.jsxs)(`dt`,{children:[(0,z.jsx)(e,{"aria-hidden":`true`,size:18}),(0,z.jsx)(`span`,{className:`visually-hidden`,children:m.hours})]}),(0,z.jsx)(`dd`,{dir:`auto`,children:D.openHours})]})]})]})]}),(0,z.jsxs)(`div`,{className:Z.side,children:[(0,z.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,z.jsx)(`h2`,{id:`vouchers`,children:m.vouchers}),D.vouchers.length===0?(0,z.jsx)(`p`,{className:Z.none,children:m.noVouchers}):(0,z.jsx)(`ul`,{className:Z.list,children:D.vouchers.map(e=>(0,z.jsx)(`li`,{children:`sale`in e?(0,z.jsx)(c,{voucher:e}):(0,z.jsx)(J,{voucher:e})},e.id))})]}),(0,z.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,z.jsx)(`h2`,{id:`where`,children:m.where}),(0,z.jsx)(G,{shop:D})]})]}),(0,z.jsxs)(`section`,{className:Z.notes,"aria-labelledby":`notes`,children:[(0,z.jsxs)(`div`,{className:Z.heading,children:[(0,z.jsx)(`h2`,{id:`notes`,children:m.notes}),(0,z.jsxs)(p,{small:!0,kind:`quiet`,href:`/publish?shop=${f}`,children:[(0,z.jsx)(O,{"aria-hidden":`true`,size:18}),m.write]})]}),(0,z.jsx)(u,{name:`notes`,document:X,variables:{id:f},connection:({shop:e})=>e?.notes,className:Z.list,loading:(0,z.jsx)(i,{shape:`card`}),empty:(0,z.jsx)(s,{title:m.noNotes}),children:({node:e})=>(0,z.jsx)(n,{note:e})})]})]})}):D===null||T&&_(T)===`BAD_USER_INPUT`?(0,z.jsx)(x,{}):(0,z.jsx)(h,{title:m.title,backTo:`/`,children:T?(0,z.jsx)(o,{error:T,onRetry:()=>E({requestPolicy:`network-only`})}):(0,z.jsx)(i,{shape:`card`})})}export{$ as Shop};