import{t as e}from"./clock-CQ1JdpgV.js";import{C as t,L as n,M as r,R as i,_ as a,f as o,g as s,h as c,i as l,p as u,u as d}from"./app-C5XjqgC4.js";import{_ as f,c as p,m,t as h,u as g}from"./Screen-DN1Y-HZ_.js";import{t as _}from"./errors-DzDCqRf4.js";import{t as v}from"./useAsk-ChgyYjXc.js";import{Lost as y}from"./Lost-Cwg82_Ht.js";import{t as b}from"./document-bm9CNBvx.js";import{n as x}from"./preload-helper-Chrg9qMa.js";import{t as S}from"./Gallery-Cn3HkF20.js";import{t as C}from"./ticket-H7-p6rhf.js";var w={name:`navigation`,size:24,node:[[`polygon`,{points:`3 11 22 2 13 21 11 13 3 11`,key:`1ltx0t`}]]};w.node;var T=m(w),E={name:`pen-line`,size:24,node:[[`path`,{d:`M13 21h8`,key:`1jsn5i`}],[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}]],aliases:[`edit-3`]};E.node;var D=m(E),O={name:`shopping-bag`,size:24,node:[[`path`,{d:`M16 10a4 4 0 0 1-8 0`,key:`1ltviw`}],[`path`,{d:`M3.103 6.034h17.794`,key:`awc11p`}],[`path`,{d:`M3.4 5.467a2 2 0 0 0-.4 1.2V20a2 2 0 0 0 2 2h14a2 2 0 0 0 2-2V6.667a2 2 0 0 0-.4-1.2l-2-2.667A2 2 0 0 0 17 2H7a2 2 0 0 0-1.6.8z`,key:`o988cm`}]]};O.node;var k=m(O);function A(e,t){return{x:(e.lng-t.lng)*Math.cos(t.lat*Math.PI/180)*111320,y:(t.lat-e.lat)*110540}}var j=120,M=[20,50,100,200,500,1e3];function N(e,{width:t,height:n,margin:r}){let i=t=>Math.max(j,...e.map(e=>Math.abs(e[t]))),a=Math.min((t/2-r)/i(`x`),(n/2-r)/i(`y`));return{scale:a,bar:M.findLast(e=>e*a<=t/3)??M[0]}}var P=12;function F(e,t,n,r){let i=e.map(({x:e,y:t})=>({x:e,y:t})),a=i.slice(0,n);for(let e=0;e<P;e++)for(let[e,n]of a.entries()){let i=Math.hypot(n.x-t.x,n.y-t.y);if(i<r){let e=i===0?0:r/i;n.x=i===0?t.x+r:t.x+(n.x-t.x)*e,n.y=t.y+(n.y-t.y)*e}for(let t of a.slice(e+1)){let[e,i]=[t.x-n.x,t.y-n.y],a=Math.hypot(e,i);if(a>=r)continue;let[o,s]=a===0?[1,0]:[e/a,i/a],c=(r-a)/2;n.x-=o*c,n.y-=s*c,t.x+=o*c,t.y+=s*c}}return i}var I=b(`b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4`,`query Neighbours($near: NearInput!) {
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
}`),L={place:`_place_jg0h1_1`,map:`_map_jg0h1_8`,ring:`_ring_jg0h1_22`,target:`_target_jg0h1_28`,dot:`_dot_jg0h1_32`,near:`_near_jg0h1_38`,far:`_far_jg0h1_53`,here:`_here_jg0h1_69`,middle:`_middle_jg0h1_79`,bar:`_bar_jg0h1_84`,north:`_north_jg0h1_90`,go:`_go_jg0h1_94`,degrees:`_degrees_jg0h1_105`,list:`_list_jg0h1_113`,number:`_number_jg0h1_140`,what:`_what_jg0h1_152`,metres:`_metres_jg0h1_159`},R=x(),z=g({map:e=>`Map around ${e}`,north:`N`,go:`Open in a map app`,near:`Around the corner`,alone:`No other shop is near.`},{map:e=>`${e} 周边地图`,north:`北`,go:`在地图应用中打开`,near:`附近店铺`,alone:`附近没有其他店铺。`}),B=600,V=6,H={width:360,height:320,margin:22},U={x:H.width/2,y:H.height/2};function W({shop:e}){let t=z(),{distance:n}=r(),i=o(),{lat:a,lng:s}=e.location,[{data:c}]=v({query:I,variables:{near:{lat:a,lng:s,radius:B}},requestPolicy:`cache-first`}),l=(c?.shops.edges??[]).filter(({node:t})=>t.id!==e.id).slice(0,30).map(({node:t,distance:n},r)=>({shop:t,at:A(t.location,e.location),distance:n??0,place:r})),{scale:u,bar:d}=N(l.map(e=>e.at),H),p=d*u,m=F(l.map(({at:e})=>({x:U.x+e.x*u,y:U.y+e.y*u})),U,V,21),h={x:16,y:H.height-16};return(0,R.jsxs)(`div`,{className:L.place,children:[(0,R.jsxs)(`svg`,{className:L.map,viewBox:`0 0 ${H.width} ${H.height}`,role:`group`,"aria-label":t.map(e.name),"data-neighbours":c?l.length:void 0,children:[[d,d*2,d*3].map(e=>(0,R.jsx)(`circle`,{className:L.ring,cx:U.x,cy:U.y,r:e*u},e)),l.toReversed().map(({shop:{id:e,name:t},distance:r,place:i})=>{let a=`${t}, ${n(r)}`,{x:o,y:s}=m[i];return(0,R.jsxs)(f,{href:`/shops/${e}`,className:i<V?L.near:L.far,"aria-label":i<V?`${i+1} ${a}`:a,children:[(0,R.jsx)(`title`,{children:a}),(0,R.jsxs)(`g`,{transform:`translate(${o} ${s})`,children:[(0,R.jsx)(`circle`,{className:L.target,r:`14`}),(0,R.jsx)(`circle`,{className:L.dot,r:i<V?10:5}),i<V&&(0,R.jsx)(`text`,{"aria-hidden":`true`,y:`4`,children:i+1})]})]},e)}),(0,R.jsxs)(`g`,{className:L.here,transform:`translate(${U.x} ${U.y})`,"aria-hidden":`true`,children:[(0,R.jsx)(`circle`,{r:`10`}),(0,R.jsx)(`circle`,{className:L.middle,r:`4`})]}),(0,R.jsxs)(`g`,{className:L.bar,"aria-hidden":`true`,children:[(0,R.jsx)(`path`,{d:`M${h.x} ${h.y-6}V${h.y}H${h.x+p}V${h.y-6}`}),(0,R.jsx)(`text`,{x:h.x+p/2,y:h.y-6,children:n(d)})]}),(0,R.jsxs)(`g`,{className:L.north,"aria-hidden":`true`,transform:`translate(${H.width-22} 16)`,children:[(0,R.jsx)(`path`,{d:`M0 0L6 16L0 12L-6 16Z`}),(0,R.jsx)(`text`,{y:`29`,children:t.north})]})]}),(0,R.jsxs)(`a`,{className:L.go,href:`geo:${a},${s}?q=${a},${s}(${encodeURIComponent(e.name)})`,children:[(0,R.jsx)(T,{"aria-hidden":`true`,size:18}),t.go,(0,R.jsxs)(`span`,{className:L.degrees,children:[a.toFixed(5),`, `,s.toFixed(5)]})]}),c&&(0,R.jsxs)(`div`,{className:L.list,children:[(0,R.jsx)(`h3`,{children:t.near}),l.length===0&&(0,R.jsx)(`p`,{children:t.alone}),(0,R.jsx)(`ol`,{children:l.slice(0,V).map(({shop:{id:e,name:t,type:r},distance:a,place:o})=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(`span`,{"aria-hidden":`true`,className:L.number,children:o+1}),(0,R.jsx)(f,{href:`/shops/${e}`,children:t}),(0,R.jsx)(`span`,{className:L.what,children:i(r.name)}),(0,R.jsx)(`span`,{className:L.metres,children:n(a)})]},e))})]})]})}var G={card:`_card_49gt9_1`,price:`_price_49gt9_15`,text:`_text_49gt9_36`,tag:`_tag_49gt9_44`,link:`_link_49gt9_52`,sub:`_sub_49gt9_63`},K=g({voucher:`Voucher`,worth:`worth`,one:`One each`,off:`Off sale`},{voucher:`代金券`,worth:`价值`,one:`每人一份`,off:`已下架`});function q({voucher:e}){let t=K(),{money:n}=r();return(0,R.jsxs)(`article`,{className:G.card,"data-voucher":e.id,children:[(0,R.jsxs)(`p`,{className:G.price,children:[(0,R.jsx)(`strong`,{children:n(e.payValue)}),(0,R.jsxs)(`span`,{children:[t.worth,` `,n(e.faceValue)]})]}),(0,R.jsxs)(`div`,{className:G.text,children:[(0,R.jsxs)(`p`,{className:G.tag,children:[(0,R.jsx)(C,{"aria-hidden":`true`,size:16}),t.voucher,e.onePerUser&&(0,R.jsxs)(`span`,{children:[`· `,t.one]}),e.status!==`ON_SALE`&&(0,R.jsxs)(`span`,{children:[`· `,t.off]})]}),(0,R.jsx)(`h3`,{children:(0,R.jsx)(f,{href:`/vouchers/${e.id}`,className:G.link,children:e.title})}),e.subTitle!==null&&(0,R.jsx)(`p`,{className:G.sub,children:e.subTitle})]})]})}var J=b(`5d7f07abe31ca6467522d07f214ba0a1dabcc8b3913986811189db5a3f727583`,`query Shop($id: ID!) {
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
}`),Y=b(`9dfa3c18b571acefebbad1a835d89ae54bd1914d2451cce83d3e11ed3578734e`,`query ShopNotes($id: ID!, $after: Cursor) {
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
}`),X={layout:`_layout_1lni3_1`,head:`_head_1lni3_7`,card:`_card_1lni3_14`,facts:`_facts_1lni3_23`,figures:`_figures_1lni3_24`,details:`_details_1lni3_46`,area:`_area_1lni3_64`,side:`_side_1lni3_70`,list:`_list_1lni3_82`,none:`_none_1lni3_87`,notes:`_notes_1lni3_91`,heading:`_heading_1lni3_96`},Z=g({title:`Shop`,pictures:e=>`Pictures of ${e}`,each:e=>`${e} a person`,comments:e=>e===`1`?`1 comment`:`${e} comments`,sold:e=>e===`1`?`1 voucher sold`:`${e} vouchers sold`,address:`Address`,hours:`Open`,vouchers:`Vouchers`,noVouchers:`No vouchers at the moment.`,where:`Where it is`,notes:`Notes`,noNotes:`Nobody has written about this shop yet.`,write:`Write a note`},{title:`店铺`,pictures:e=>`${e} 的图片`,each:e=>`人均 ${e}`,comments:e=>`${e} 条评论`,sold:e=>`已售 ${e} 张券`,address:`地址`,hours:`营业时间`,vouchers:`优惠`,noVouchers:`暂无优惠。`,where:`位置`,notes:`笔记`,noNotes:`还没有人写过这家店。`,write:`写笔记`});function Q({id:f}){let m=Z(),{money:g,number:b}=r(),x=o(),[{data:C,error:w},T]=v({query:J,variables:{id:f}}),E=C?.shop;return E?(0,R.jsx)(h,{title:E.name,up:`/`,children:(0,R.jsxs)(`div`,{className:X.layout,"data-shop":f,children:[(0,R.jsxs)(`div`,{className:X.head,children:[E.images.length>0&&(0,R.jsx)(S,{label:m.pictures(E.name),images:E.images,ratio:3/2}),(0,R.jsxs)(`div`,{className:X.card,children:[(0,R.jsxs)(`p`,{className:X.facts,children:[(0,R.jsx)(u,{value:E.score}),(0,R.jsx)(`span`,{children:x(E.type.name)}),E.avgPrice!==null&&(0,R.jsx)(`span`,{children:m.each(g(E.avgPrice))})]}),(0,R.jsxs)(`p`,{className:X.figures,children:[(0,R.jsxs)(`span`,{children:[(0,R.jsx)(n,{"aria-hidden":`true`,size:18}),m.comments(b(E.commentCount))]}),(0,R.jsxs)(`span`,{children:[(0,R.jsx)(k,{"aria-hidden":`true`,size:18}),m.sold(b(E.sold))]})]}),(0,R.jsxs)(`dl`,{className:X.details,children:[(0,R.jsxs)(`div`,{children:[(0,R.jsxs)(`dt`,{children:[(0,R.jsx)(i,{"aria-hidden":`true`,size:18}),(0,R.jsx)(`span`,{className:`unseen`,children:m.address})]}),(0,R.jsxs)(`dd`,{children:[E.address,E.area!==null&&(0,R.jsx)(`span`,{className:X.area,children:E.area})]})]}),E.openHours!==null&&(0,R.jsxs)(`div`,{children:[(0,R.jsxs)(`dt`,{children:[(0,R.jsx)(e,{"aria-hidden":`true`,size:18}),(0,R.jsx)(`span`,{className:`unseen`,children:m.hours})]}),(0,R.jsx)(`dd`,{children:E.openHours})]})]})]})]}),(0,R.jsxs)(`div`,{className:X.side,children:[(0,R.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,R.jsx)(`h2`,{id:`vouchers`,children:m.vouchers}),E.vouchers.length===0?(0,R.jsx)(`p`,{className:X.none,children:m.noVouchers}):(0,R.jsx)(`ul`,{className:X.list,children:E.vouchers.map(e=>(0,R.jsx)(`li`,{children:`sale`in e?(0,R.jsx)(l,{voucher:e}):(0,R.jsx)(q,{voucher:e})},e.id))})]}),(0,R.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,R.jsx)(`h2`,{id:`where`,children:m.where}),(0,R.jsx)(W,{shop:E})]})]}),(0,R.jsxs)(`section`,{className:X.notes,"aria-labelledby":`notes`,children:[(0,R.jsxs)(`div`,{className:X.heading,children:[(0,R.jsx)(`h2`,{id:`notes`,children:m.notes}),(0,R.jsxs)(p,{small:!0,kind:`quiet`,href:`/publish?shop=${f}`,children:[(0,R.jsx)(D,{"aria-hidden":`true`,size:18}),m.write]})]}),(0,R.jsx)(d,{name:`notes`,document:Y,variables:{id:f},connection:({shop:e})=>e?.notes,className:X.list,loading:(0,R.jsx)(a,{shape:`card`}),empty:(0,R.jsx)(c,{title:m.noNotes}),children:({node:e})=>(0,R.jsx)(t,{note:e})})]})]})}):E===null||w&&_(w)===`BAD_USER_INPUT`?(0,R.jsx)(y,{}):(0,R.jsx)(h,{title:m.title,up:`/`,children:w?(0,R.jsx)(s,{error:w,again:()=>T({requestPolicy:`network-only`})}):(0,R.jsx)(a,{shape:`card`})})}export{Q as Shop};