import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./clock-BuNGD6_m.js";import{A as n,I as r,L as i,O as a,d as o,f as s,h as c,i as l,j as u,l as d,m as f,p,x as m}from"./app-C_ToAT57.js";import{f as h,l as g,m as _,p as v,s as y,t as b}from"./Screen-DdURs_yY.js";import{t as x}from"./errors-C_u5kzCD.js";import{Lost as S}from"./Lost-DM6ZxyMe.js";import{t as C}from"./chevron-right-DZaPbdrY.js";import{a as w,n as T}from"./preload-helper-Chrg9qMa.js";import{t as E}from"./document-bm9CNBvx.js";import{t as D}from"./ticket-C0hm0Lvi.js";var O={name:`navigation`,size:24,node:[[`polygon`,{points:`3 11 22 2 13 21 11 13 3 11`,key:`1ltx0t`}]]};O.node;var k=v(O),A={name:`pen-line`,size:24,node:[[`path`,{d:`M13 21h8`,key:`1jsn5i`}],[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}]],aliases:[`edit-3`]};A.node;var j=v(A),M={name:`shopping-bag`,size:24,node:[[`path`,{d:`M16 10a4 4 0 0 1-8 0`,key:`1ltviw`}],[`path`,{d:`M3.103 6.034h17.794`,key:`awc11p`}],[`path`,{d:`M3.4 5.467a2 2 0 0 0-.4 1.2V20a2 2 0 0 0 2 2h14a2 2 0 0 0 2-2V6.667a2 2 0 0 0-.4-1.2l-2-2.667A2 2 0 0 0 17 2H7a2 2 0 0 0-1.6.8z`,key:`o988cm`}]]};M.node;var N=v(M),P=e(w(),1),F={gallery:`_gallery_d8h1o_1`,strip:`_strip_d8h1o_8`,count:`_count_d8h1o_26`,before:`_before_d8h1o_38`,next:`_next_d8h1o_39`},I=T(),ee=g({pictures:e=>`Pictures of ${e}`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:e=>`${e} 的图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`});function L({name:e,images:t}){let n=ee(),r=(0,P.useRef)(null),[i,o]=(0,P.useState)(0),s=e=>{let t=r.current;t?.scrollTo({left:(i+e)*t.clientWidth,behavior:`smooth`})},c=t.length>1;return(0,I.jsxs)(`div`,{className:F.gallery,role:`group`,"aria-label":n.pictures(e),"data-picture":i+1,children:[(0,I.jsx)(`ul`,{ref:r,className:F.strip,tabIndex:c?0:void 0,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>o(Math.round(e/t)),children:t.map(({url:e},r)=>(0,I.jsx)(`li`,{children:(0,I.jsx)(a,{src:e,alt:n.picture(r+1,t.length),ratio:3/2,eager:r===0})},e))}),c&&(0,I.jsxs)(I.Fragment,{children:[(0,I.jsxs)(`p`,{className:F.count,"aria-hidden":`true`,children:[i+1,` / `,t.length]}),(0,I.jsx)(`button`,{type:`button`,className:F.before,"aria-label":n.before,disabled:i===0,onClick:()=>s(-1),children:(0,I.jsx)(h,{"aria-hidden":`true`})}),(0,I.jsx)(`button`,{type:`button`,className:F.next,"aria-label":n.next,disabled:i===t.length-1,onClick:()=>s(1),children:(0,I.jsx)(C,{"aria-hidden":`true`})})]})]})}function R(e,t){return{x:(e.lng-t.lng)*Math.cos(t.lat*Math.PI/180)*111320,y:(t.lat-e.lat)*110540}}var z=120,B=[20,50,100,200,500,1e3];function V(e,{width:t,height:n,margin:r}){let i=t=>Math.max(z,...e.map(e=>Math.abs(e[t]))),a=Math.min((t/2-r)/i(`x`),(n/2-r)/i(`y`));return{scale:a,bar:B.findLast(e=>e*a<=t/3)??B[0]}}var H=12;function U(e,t,n,r){let i=e.map(({x:e,y:t})=>({x:e,y:t})),a=i.slice(0,n);for(let e=0;e<H;e++)for(let[e,n]of a.entries()){let i=Math.hypot(n.x-t.x,n.y-t.y);if(i<r){let e=i===0?0:r/i;n.x=i===0?t.x+r:t.x+(n.x-t.x)*e,n.y=t.y+(n.y-t.y)*e}for(let t of a.slice(e+1)){let[e,i]=[t.x-n.x,t.y-n.y],a=Math.hypot(e,i);if(a>=r)continue;let[o,s]=a===0?[1,0]:[e/a,i/a],c=(r-a)/2;n.x-=o*c,n.y-=s*c,t.x+=o*c,t.y+=s*c}}return i}var W=E(`b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4`,`query Neighbours($near: NearInput!) {
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
}`),G={place:`_place_jg0h1_1`,map:`_map_jg0h1_8`,ring:`_ring_jg0h1_22`,target:`_target_jg0h1_28`,dot:`_dot_jg0h1_32`,near:`_near_jg0h1_38`,far:`_far_jg0h1_53`,here:`_here_jg0h1_69`,middle:`_middle_jg0h1_79`,bar:`_bar_jg0h1_84`,north:`_north_jg0h1_90`,go:`_go_jg0h1_94`,degrees:`_degrees_jg0h1_105`,list:`_list_jg0h1_113`,number:`_number_jg0h1_140`,what:`_what_jg0h1_152`,metres:`_metres_jg0h1_159`},K=g({map:e=>`Map around ${e}`,north:`N`,go:`Open in a map app`,near:`Around the corner`,alone:`No other shop is near.`},{map:e=>`${e} 周边地图`,north:`北`,go:`在地图应用中打开`,near:`附近店铺`,alone:`附近没有其他店铺。`}),q=600,J=6,Y={width:360,height:320,margin:22},X={x:Y.width/2,y:Y.height/2};function Z({shop:e}){let t=K(),{distance:r}=n(),i=o(),{lat:a,lng:s}=e.location,[{data:c}]=u({query:W,variables:{near:{lat:a,lng:s,radius:q}},requestPolicy:`cache-first`}),l=(c?.shops.edges??[]).filter(({node:t})=>t.id!==e.id).slice(0,30).map(({node:t,distance:n},r)=>({shop:t,at:R(t.location,e.location),distance:n??0,place:r})),{scale:d,bar:f}=V(l.map(e=>e.at),Y),p=f*d,m=U(l.map(({at:e})=>({x:X.x+e.x*d,y:X.y+e.y*d})),X,J,21),h={x:16,y:Y.height-16};return(0,I.jsxs)(`div`,{className:G.place,children:[(0,I.jsxs)(`svg`,{className:G.map,viewBox:`0 0 ${Y.width} ${Y.height}`,role:`group`,"aria-label":t.map(e.name),"data-neighbours":c?l.length:void 0,children:[[f,f*2,f*3].map(e=>(0,I.jsx)(`circle`,{className:G.ring,cx:X.x,cy:X.y,r:e*d},e)),l.toReversed().map(({shop:{id:e,name:t},distance:n,place:i})=>{let a=`${t}, ${r(n)}`,{x:o,y:s}=m[i];return(0,I.jsxs)(_,{href:`/shops/${e}`,className:i<J?G.near:G.far,"aria-label":i<J?`${i+1} ${a}`:a,children:[(0,I.jsx)(`title`,{children:a}),(0,I.jsxs)(`g`,{transform:`translate(${o} ${s})`,children:[(0,I.jsx)(`circle`,{className:G.target,r:`14`}),(0,I.jsx)(`circle`,{className:G.dot,r:i<J?10:5}),i<J&&(0,I.jsx)(`text`,{"aria-hidden":`true`,y:`4`,children:i+1})]})]},e)}),(0,I.jsxs)(`g`,{className:G.here,transform:`translate(${X.x} ${X.y})`,"aria-hidden":`true`,children:[(0,I.jsx)(`circle`,{r:`10`}),(0,I.jsx)(`circle`,{className:G.middle,r:`4`})]}),(0,I.jsxs)(`g`,{className:G.bar,"aria-hidden":`true`,children:[(0,I.jsx)(`path`,{d:`M${h.x} ${h.y-6}V${h.y}H${h.x+p}V${h.y-6}`}),(0,I.jsx)(`text`,{x:h.x+p/2,y:h.y-6,children:r(f)})]}),(0,I.jsxs)(`g`,{className:G.north,"aria-hidden":`true`,transform:`translate(${Y.width-22} 16)`,children:[(0,I.jsx)(`path`,{d:`M0 0L6 16L0 12L-6 16Z`}),(0,I.jsx)(`text`,{y:`29`,children:t.north})]})]}),(0,I.jsxs)(`a`,{className:G.go,href:`geo:${a},${s}?q=${a},${s}(${encodeURIComponent(e.name)})`,children:[(0,I.jsx)(k,{"aria-hidden":`true`,size:18}),t.go,(0,I.jsxs)(`span`,{className:G.degrees,children:[a.toFixed(5),`, `,s.toFixed(5)]})]}),c&&(0,I.jsxs)(`div`,{className:G.list,children:[(0,I.jsx)(`h3`,{children:t.near}),l.length===0&&(0,I.jsx)(`p`,{children:t.alone}),(0,I.jsx)(`ol`,{children:l.slice(0,J).map(({shop:{id:e,name:t,type:n},distance:a,place:o})=>(0,I.jsxs)(`li`,{children:[(0,I.jsx)(`span`,{"aria-hidden":`true`,className:G.number,children:o+1}),(0,I.jsx)(_,{href:`/shops/${e}`,children:t}),(0,I.jsx)(`span`,{className:G.what,children:i(n.name)}),(0,I.jsx)(`span`,{className:G.metres,children:r(a)})]},e))})]})]})}var Q={card:`_card_49gt9_1`,price:`_price_49gt9_15`,text:`_text_49gt9_36`,tag:`_tag_49gt9_44`,link:`_link_49gt9_52`,sub:`_sub_49gt9_63`},te=g({voucher:`Voucher`,worth:`worth`,one:`One each`,off:`Off sale`},{voucher:`代金券`,worth:`价值`,one:`每人一份`,off:`已下架`});function ne({voucher:e}){let t=te(),{money:r}=n();return(0,I.jsxs)(`article`,{className:Q.card,"data-voucher":e.id,children:[(0,I.jsxs)(`p`,{className:Q.price,children:[(0,I.jsx)(`strong`,{children:r(e.payValue)}),(0,I.jsxs)(`span`,{children:[t.worth,` `,r(e.faceValue)]})]}),(0,I.jsxs)(`div`,{className:Q.text,children:[(0,I.jsxs)(`p`,{className:Q.tag,children:[(0,I.jsx)(D,{"aria-hidden":`true`,size:16}),t.voucher,e.onePerUser&&(0,I.jsxs)(`span`,{children:[`· `,t.one]}),e.status!==`ON_SALE`&&(0,I.jsxs)(`span`,{children:[`· `,t.off]})]}),(0,I.jsx)(`h3`,{children:(0,I.jsx)(_,{href:`/vouchers/${e.id}`,className:Q.link,children:e.title})}),e.subTitle!==null&&(0,I.jsx)(`p`,{className:Q.sub,children:e.subTitle})]})]})}var re=E(`5d7f07abe31ca6467522d07f214ba0a1dabcc8b3913986811189db5a3f727583`,`query Shop($id: ID!) {
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
}`),ie=E(`9dfa3c18b571acefebbad1a835d89ae54bd1914d2451cce83d3e11ed3578734e`,`query ShopNotes($id: ID!, $after: Cursor) {
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
}`),$={layout:`_layout_1lni3_1`,head:`_head_1lni3_7`,card:`_card_1lni3_14`,facts:`_facts_1lni3_23`,figures:`_figures_1lni3_24`,details:`_details_1lni3_46`,area:`_area_1lni3_64`,side:`_side_1lni3_70`,list:`_list_1lni3_82`,none:`_none_1lni3_87`,notes:`_notes_1lni3_91`,heading:`_heading_1lni3_96`},ae=g({title:`Shop`,each:e=>`${e} a person`,comments:e=>e===`1`?`1 comment`:`${e} comments`,sold:e=>e===`1`?`1 voucher sold`:`${e} vouchers sold`,address:`Address`,hours:`Open`,vouchers:`Vouchers`,noVouchers:`No vouchers at the moment.`,where:`Where it is`,notes:`Notes`,noNotes:`Nobody has written about this shop yet.`,write:`Write a note`},{title:`店铺`,each:e=>`人均 ${e}`,comments:e=>`${e} 条评论`,sold:e=>`已售 ${e} 张券`,address:`地址`,hours:`营业时间`,vouchers:`优惠`,noVouchers:`暂无优惠。`,where:`位置`,notes:`笔记`,noNotes:`还没有人写过这家店。`,write:`写笔记`});function oe({id:e}){let a=ae(),{money:h,number:g}=n(),_=o(),[{data:v,error:C},w]=u({query:re,variables:{id:e}}),T=v?.shop;return T?(0,I.jsx)(b,{title:T.name,up:`/`,children:(0,I.jsxs)(`div`,{className:$.layout,"data-shop":e,children:[(0,I.jsxs)(`div`,{className:$.head,children:[T.images.length>0&&(0,I.jsx)(L,{name:T.name,images:T.images}),(0,I.jsxs)(`div`,{className:$.card,children:[(0,I.jsxs)(`p`,{className:$.facts,children:[(0,I.jsx)(s,{value:T.score}),(0,I.jsx)(`span`,{children:_(T.type.name)}),T.avgPrice!==null&&(0,I.jsx)(`span`,{children:a.each(h(T.avgPrice))})]}),(0,I.jsxs)(`p`,{className:$.figures,children:[(0,I.jsxs)(`span`,{children:[(0,I.jsx)(r,{"aria-hidden":`true`,size:18}),a.comments(g(T.commentCount))]}),(0,I.jsxs)(`span`,{children:[(0,I.jsx)(N,{"aria-hidden":`true`,size:18}),a.sold(g(T.sold))]})]}),(0,I.jsxs)(`dl`,{className:$.details,children:[(0,I.jsxs)(`div`,{children:[(0,I.jsxs)(`dt`,{children:[(0,I.jsx)(i,{"aria-hidden":`true`,size:18}),(0,I.jsx)(`span`,{className:`unseen`,children:a.address})]}),(0,I.jsxs)(`dd`,{children:[T.address,T.area!==null&&(0,I.jsx)(`span`,{className:$.area,children:T.area})]})]}),T.openHours!==null&&(0,I.jsxs)(`div`,{children:[(0,I.jsxs)(`dt`,{children:[(0,I.jsx)(t,{"aria-hidden":`true`,size:18}),(0,I.jsx)(`span`,{className:`unseen`,children:a.hours})]}),(0,I.jsx)(`dd`,{children:T.openHours})]})]})]})]}),(0,I.jsxs)(`div`,{className:$.side,children:[(0,I.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,I.jsx)(`h2`,{id:`vouchers`,children:a.vouchers}),T.vouchers.length===0?(0,I.jsx)(`p`,{className:$.none,children:a.noVouchers}):(0,I.jsx)(`ul`,{className:$.list,children:T.vouchers.map(e=>(0,I.jsx)(`li`,{children:`sale`in e?(0,I.jsx)(l,{voucher:e}):(0,I.jsx)(ne,{voucher:e})},e.id))})]}),(0,I.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,I.jsx)(`h2`,{id:`where`,children:a.where}),(0,I.jsx)(Z,{shop:T})]})]}),(0,I.jsxs)(`section`,{className:$.notes,"aria-labelledby":`notes`,children:[(0,I.jsxs)(`div`,{className:$.heading,children:[(0,I.jsx)(`h2`,{id:`notes`,children:a.notes}),(0,I.jsxs)(y,{small:!0,kind:`quiet`,href:`/publish?shop=${e}`,children:[(0,I.jsx)(j,{"aria-hidden":`true`,size:18}),a.write]})]}),(0,I.jsx)(d,{name:`notes`,document:ie,variables:{id:e},connection:({shop:e})=>e?.notes,className:$.list,loading:(0,I.jsx)(c,{shape:`card`}),empty:(0,I.jsx)(p,{title:a.noNotes}),children:({node:e})=>(0,I.jsx)(m,{note:e})})]})]})}):T===null||C&&x(C)===`BAD_USER_INPUT`?(0,I.jsx)(S,{}):(0,I.jsx)(b,{title:a.title,up:`/`,children:C?(0,I.jsx)(f,{error:C,again:()=>w({requestPolicy:`network-only`})}):(0,I.jsx)(c,{shape:`card`})})}export{oe as Shop};