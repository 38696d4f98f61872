import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,c as n,d as r,l as i,r as a,t as o}from"./Screen-C350eDAS.js";import{A as s,D as c,E as l,O as u,f as d,g as f,h as p,j as m,m as h,p as g,r as _,u as v,x as y}from"./app-MsQY-sE-.js";import{t as ee}from"./errors-DcrNRUMo.js";import{Lost as b}from"./Lost-lo4IEpZh.js";import{t as x}from"./chevron-right-Clzg_jQQ.js";import{a as S,n as C}from"./preload-helper-Chrg9qMa.js";import{t as w}from"./document-BthJQ_51.js";import{t as T}from"./ticket-DckOlL5H.js";var E={name:`clock`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`M12 6v6l4 2`,key:`mmk7yg`}]]};E.node;var D=i(E),O={name:`navigation`,size:24,node:[[`polygon`,{points:`3 11 22 2 13 21 11 13 3 11`,key:`1ltx0t`}]]};O.node;var k=i(O),A={name:`pen-line`,size:24,node:[[`path`,{d:`M13 21h8`,key:`1jsn5i`}],[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}]],aliases:[`edit-3`]};A.node;var j=i(A),M={name:`shopping-bag`,size:24,node:[[`path`,{d:`M16 10a4 4 0 0 1-8 0`,key:`1ltviw`}],[`path`,{d:`M3.103 6.034h17.794`,key:`awc11p`}],[`path`,{d:`M3.4 5.467a2 2 0 0 0-.4 1.2V20a2 2 0 0 0 2 2h14a2 2 0 0 0 2-2V6.667a2 2 0 0 0-.4-1.2l-2-2.667A2 2 0 0 0 17 2H7a2 2 0 0 0-1.6.8z`,key:`o988cm`}]]};M.node;var te=i(M),N=e(S(),1),P={gallery:`_gallery_d8h1o_1`,strip:`_strip_d8h1o_8`,count:`_count_d8h1o_26`,before:`_before_d8h1o_38`,next:`_next_d8h1o_39`},F=C(),I=t({pictures:e=>`Pictures of ${e}`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:e=>`${e} 的图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`});function L({name:e,images:t}){let r=I(),i=(0,N.useRef)(null),[a,o]=(0,N.useState)(0),s=e=>{let t=i.current;t?.scrollTo({left:(a+e)*t.clientWidth,behavior:`smooth`})},c=t.length>1;return(0,F.jsxs)(`div`,{className:P.gallery,role:`group`,"aria-label":r.pictures(e),"data-picture":a+1,children:[(0,F.jsx)(`ul`,{ref:i,className:P.strip,tabIndex:c?0:void 0,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>o(Math.round(e/t)),children:t.map(({url:e},n)=>(0,F.jsx)(`li`,{children:(0,F.jsx)(l,{src:e,alt:r.picture(n+1,t.length),ratio:3/2,eager:n===0})},e))}),c&&(0,F.jsxs)(F.Fragment,{children:[(0,F.jsxs)(`p`,{className:P.count,"aria-hidden":`true`,children:[a+1,` / `,t.length]}),(0,F.jsx)(`button`,{type:`button`,className:P.before,"aria-label":r.before,disabled:a===0,onClick:()=>s(-1),children:(0,F.jsx)(n,{"aria-hidden":`true`})}),(0,F.jsx)(`button`,{type:`button`,className:P.next,"aria-label":r.next,disabled:a===t.length-1,onClick:()=>s(1),children:(0,F.jsx)(x,{"aria-hidden":`true`})})]})]})}function R(e,t){return{x:(e.lng-t.lng)*Math.cos(t.lat*Math.PI/180)*111320,y:(t.lat-e.lat)*110540}}var z=120,B=[20,50,100,200,500,1e3];function V(e,{width:t,height:n,margin:r}){let i=t=>Math.max(z,...e.map(e=>Math.abs(e[t]))),a=Math.min((t/2-r)/i(`x`),(n/2-r)/i(`y`));return{scale:a,bar:B.findLast(e=>e*a<=t/3)??B[0]}}var H=12;function U(e,t,n,r){let i=e.map(({x:e,y:t})=>({x:e,y:t})),a=i.slice(0,n);for(let e=0;e<H;e++)for(let[e,n]of a.entries()){let i=Math.hypot(n.x-t.x,n.y-t.y);if(i<r){let e=i===0?0:r/i;n.x=i===0?t.x+r:t.x+(n.x-t.x)*e,n.y=t.y+(n.y-t.y)*e}for(let t of a.slice(e+1)){let[e,i]=[t.x-n.x,t.y-n.y],a=Math.hypot(e,i);if(a>=r)continue;let[o,s]=a===0?[1,0]:[e/a,i/a],c=(r-a)/2;n.x-=o*c,n.y-=s*c,t.x+=o*c,t.y+=s*c}}return i}var W=w(`b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4`,`query Neighbours($near: NearInput!) {
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
}`),G={place:`_place_jg0h1_1`,map:`_map_jg0h1_8`,ring:`_ring_jg0h1_22`,target:`_target_jg0h1_28`,dot:`_dot_jg0h1_32`,near:`_near_jg0h1_38`,far:`_far_jg0h1_53`,here:`_here_jg0h1_69`,middle:`_middle_jg0h1_79`,bar:`_bar_jg0h1_84`,north:`_north_jg0h1_90`,go:`_go_jg0h1_94`,degrees:`_degrees_jg0h1_105`,list:`_list_jg0h1_113`,number:`_number_jg0h1_140`,what:`_what_jg0h1_152`,metres:`_metres_jg0h1_159`},K=t({map:e=>`Map around ${e}`,north:`N`,go:`Open in a map app`,near:`Around the corner`,alone:`No other shop is near.`},{map:e=>`${e} 周边地图`,north:`北`,go:`在地图应用中打开`,near:`附近店铺`,alone:`附近没有其他店铺。`}),q=600,J=6,Y={width:360,height:320,margin:22},X={x:Y.width/2,y:Y.height/2};function Z({shop:e}){let t=K(),{distance:n}=c(),i=d(),{lat:a,lng:o}=e.location,[{data:s}]=u({query:W,variables:{near:{lat:a,lng:o,radius:q}},requestPolicy:`cache-first`}),l=(s?.shops.edges??[]).filter(({node:t})=>t.id!==e.id).slice(0,30).map(({node:t,distance:n},r)=>({shop:t,at:R(t.location,e.location),distance:n??0,place:r})),{scale:f,bar:p}=V(l.map(e=>e.at),Y),m=p*f,h=U(l.map(({at:e})=>({x:X.x+e.x*f,y:X.y+e.y*f})),X,J,21),g={x:16,y:Y.height-16};return(0,F.jsxs)(`div`,{className:G.place,children:[(0,F.jsxs)(`svg`,{className:G.map,viewBox:`0 0 ${Y.width} ${Y.height}`,role:`group`,"aria-label":t.map(e.name),"data-neighbours":s?l.length:void 0,children:[[p,p*2,p*3].map(e=>(0,F.jsx)(`circle`,{className:G.ring,cx:X.x,cy:X.y,r:e*f},e)),l.toReversed().map(({shop:{id:e,name:t},distance:i,place:a})=>{let o=`${t}, ${n(i)}`,{x:s,y:c}=h[a];return(0,F.jsxs)(r,{href:`/shops/${e}`,className:a<J?G.near:G.far,"aria-label":a<J?`${a+1} ${o}`:o,children:[(0,F.jsx)(`title`,{children:o}),(0,F.jsxs)(`g`,{transform:`translate(${s} ${c})`,children:[(0,F.jsx)(`circle`,{className:G.target,r:`14`}),(0,F.jsx)(`circle`,{className:G.dot,r:a<J?10:5}),a<J&&(0,F.jsx)(`text`,{"aria-hidden":`true`,y:`4`,children:a+1})]})]},e)}),(0,F.jsxs)(`g`,{className:G.here,transform:`translate(${X.x} ${X.y})`,"aria-hidden":`true`,children:[(0,F.jsx)(`circle`,{r:`10`}),(0,F.jsx)(`circle`,{className:G.middle,r:`4`})]}),(0,F.jsxs)(`g`,{className:G.bar,"aria-hidden":`true`,children:[(0,F.jsx)(`path`,{d:`M${g.x} ${g.y-6}V${g.y}H${g.x+m}V${g.y-6}`}),(0,F.jsx)(`text`,{x:g.x+m/2,y:g.y-6,children:n(p)})]}),(0,F.jsxs)(`g`,{className:G.north,"aria-hidden":`true`,transform:`translate(${Y.width-22} 16)`,children:[(0,F.jsx)(`path`,{d:`M0 0L6 16L0 12L-6 16Z`}),(0,F.jsx)(`text`,{y:`29`,children:t.north})]})]}),(0,F.jsxs)(`a`,{className:G.go,href:`geo:${a},${o}?q=${a},${o}(${encodeURIComponent(e.name)})`,children:[(0,F.jsx)(k,{"aria-hidden":`true`,size:18}),t.go,(0,F.jsxs)(`span`,{className:G.degrees,children:[a.toFixed(5),`, `,o.toFixed(5)]})]}),s&&(0,F.jsxs)(`div`,{className:G.list,children:[(0,F.jsx)(`h3`,{children:t.near}),l.length===0&&(0,F.jsx)(`p`,{children:t.alone}),(0,F.jsx)(`ol`,{children:l.slice(0,J).map(({shop:{id:e,name:t,type:a},distance:o,place:s})=>(0,F.jsxs)(`li`,{children:[(0,F.jsx)(`span`,{"aria-hidden":`true`,className:G.number,children:s+1}),(0,F.jsx)(r,{href:`/shops/${e}`,children:t}),(0,F.jsx)(`span`,{className:G.what,children:i(a.name)}),(0,F.jsx)(`span`,{className:G.metres,children:n(o)})]},e))})]})]})}var Q={card:`_card_49gt9_1`,price:`_price_49gt9_15`,text:`_text_49gt9_36`,tag:`_tag_49gt9_44`,link:`_link_49gt9_52`,sub:`_sub_49gt9_63`},ne=t({voucher:`Voucher`,worth:`worth`,one:`One each`,off:`Off sale`},{voucher:`代金券`,worth:`价值`,one:`每人一份`,off:`已下架`});function re({voucher:e}){let t=ne(),{money:n}=c();return(0,F.jsxs)(`article`,{className:Q.card,"data-voucher":e.id,children:[(0,F.jsxs)(`p`,{className:Q.price,children:[(0,F.jsx)(`strong`,{children:n(e.payValue)}),(0,F.jsxs)(`span`,{children:[t.worth,` `,n(e.faceValue)]})]}),(0,F.jsxs)(`div`,{className:Q.text,children:[(0,F.jsxs)(`p`,{className:Q.tag,children:[(0,F.jsx)(T,{"aria-hidden":`true`,size:16}),t.voucher,e.onePerUser&&(0,F.jsxs)(`span`,{children:[`· `,t.one]}),e.status!==`ON_SALE`&&(0,F.jsxs)(`span`,{children:[`· `,t.off]})]}),(0,F.jsx)(`h3`,{children:(0,F.jsx)(r,{href:`/vouchers/${e.id}`,className:Q.link,children:e.title})}),e.subTitle!==null&&(0,F.jsx)(`p`,{className:Q.sub,children:e.subTitle})]})]})}var ie=w(`5d7f07abe31ca6467522d07f214ba0a1dabcc8b3913986811189db5a3f727583`,`query Shop($id: ID!) {
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
}`),ae=w(`9dfa3c18b571acefebbad1a835d89ae54bd1914d2451cce83d3e11ed3578734e`,`query ShopNotes($id: ID!, $after: Cursor) {
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
}`),$={layout:`_layout_1lni3_1`,head:`_head_1lni3_7`,card:`_card_1lni3_14`,facts:`_facts_1lni3_23`,figures:`_figures_1lni3_24`,details:`_details_1lni3_46`,area:`_area_1lni3_64`,side:`_side_1lni3_70`,list:`_list_1lni3_82`,none:`_none_1lni3_87`,notes:`_notes_1lni3_91`,heading:`_heading_1lni3_96`},oe=t({title:`Shop`,each:e=>`${e} a person`,comments:e=>e===`1`?`1 comment`:`${e} comments`,sold:e=>e===`1`?`1 voucher sold`:`${e} vouchers sold`,address:`Address`,hours:`Open`,vouchers:`Vouchers`,noVouchers:`No vouchers at the moment.`,where:`Where it is`,notes:`Notes`,noNotes:`Nobody has written about this shop yet.`,write:`Write a note`},{title:`店铺`,each:e=>`人均 ${e}`,comments:e=>`${e} 条评论`,sold:e=>`已售 ${e} 张券`,address:`地址`,hours:`营业时间`,vouchers:`优惠`,noVouchers:`暂无优惠。`,where:`位置`,notes:`笔记`,noNotes:`还没有人写过这家店。`,write:`写笔记`});function se({id:e}){let t=oe(),{money:n,number:r}=c(),i=d(),[{data:l,error:x},S]=u({query:ie,variables:{id:e}}),C=l?.shop;return C?(0,F.jsx)(o,{title:C.name,up:`/`,children:(0,F.jsxs)(`div`,{className:$.layout,"data-shop":e,children:[(0,F.jsxs)(`div`,{className:$.head,children:[C.images.length>0&&(0,F.jsx)(L,{name:C.name,images:C.images}),(0,F.jsxs)(`div`,{className:$.card,children:[(0,F.jsxs)(`p`,{className:$.facts,children:[(0,F.jsx)(g,{value:C.score}),(0,F.jsx)(`span`,{children:i(C.type.name)}),C.avgPrice!==null&&(0,F.jsx)(`span`,{children:t.each(n(C.avgPrice))})]}),(0,F.jsxs)(`p`,{className:$.figures,children:[(0,F.jsxs)(`span`,{children:[(0,F.jsx)(s,{"aria-hidden":`true`,size:18}),t.comments(r(C.commentCount))]}),(0,F.jsxs)(`span`,{children:[(0,F.jsx)(te,{"aria-hidden":`true`,size:18}),t.sold(r(C.sold))]})]}),(0,F.jsxs)(`dl`,{className:$.details,children:[(0,F.jsxs)(`div`,{children:[(0,F.jsxs)(`dt`,{children:[(0,F.jsx)(m,{"aria-hidden":`true`,size:18}),(0,F.jsx)(`span`,{className:`unseen`,children:t.address})]}),(0,F.jsxs)(`dd`,{children:[C.address,C.area!==null&&(0,F.jsx)(`span`,{className:$.area,children:C.area})]})]}),C.openHours!==null&&(0,F.jsxs)(`div`,{children:[(0,F.jsxs)(`dt`,{children:[(0,F.jsx)(D,{"aria-hidden":`true`,size:18}),(0,F.jsx)(`span`,{className:`unseen`,children:t.hours})]}),(0,F.jsx)(`dd`,{children:C.openHours})]})]})]})]}),(0,F.jsxs)(`div`,{className:$.side,children:[(0,F.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,F.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),C.vouchers.length===0?(0,F.jsx)(`p`,{className:$.none,children:t.noVouchers}):(0,F.jsx)(`ul`,{className:$.list,children:C.vouchers.map(e=>(0,F.jsx)(`li`,{children:`sale`in e?(0,F.jsx)(_,{voucher:e}):(0,F.jsx)(re,{voucher:e})},e.id))})]}),(0,F.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,F.jsx)(`h2`,{id:`where`,children:t.where}),(0,F.jsx)(Z,{shop:C})]})]}),(0,F.jsxs)(`section`,{className:$.notes,"aria-labelledby":`notes`,children:[(0,F.jsxs)(`div`,{className:$.heading,children:[(0,F.jsx)(`h2`,{id:`notes`,children:t.notes}),(0,F.jsxs)(a,{small:!0,kind:`quiet`,href:`/publish?shop=${e}`,children:[(0,F.jsx)(j,{"aria-hidden":`true`,size:18}),t.write]})]}),(0,F.jsx)(v,{name:`notes`,document:ae,variables:{id:e},connection:({shop:e})=>e?.notes,className:$.list,loading:(0,F.jsx)(f,{shape:`card`}),empty:(0,F.jsx)(h,{title:t.noNotes}),children:({node:e})=>(0,F.jsx)(y,{note:e})})]})]})}):C===null||x&&ee(x)===`BAD_USER_INPUT`?(0,F.jsx)(b,{}):(0,F.jsx)(o,{title:t.title,up:`/`,children:x?(0,F.jsx)(p,{error:x,again:()=>S({requestPolicy:`network-only`})}):(0,F.jsx)(f,{shape:`card`})})}export{se as Shop};