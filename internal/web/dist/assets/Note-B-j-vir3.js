import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-YgmIUgcm.js";import{a as n,n as r}from"./preload-helper-Chrg9qMa.js";import{c as i,f as a,i as o,l as s,m as c,o as l,s as u,t as d,y as f}from"./Screen-DdURs_yY.js";import{r as p,t as m}from"./errors-C_u5kzCD.js";import{A as h,C as g,D as _,E as v,O as y,S as b,d as x,f as S,g as ee,h as C,j as w,k as T,l as E,m as te,p as ne,w as D,y as O}from"./app-C_ToAT57.js";import{t as k}from"./FollowButton-CfwuXMXm.js";import{Lost as re}from"./Lost-DM6ZxyMe.js";import{a as A}from"./session-zqIz0r0r.js";import{n as ie}from"./toast-ZrJXNZZ4.js";import{t as j}from"./document-bm9CNBvx.js";import{t as ae}from"./chevron-right-DZaPbdrY.js";var M=e(n(),1),N={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},P=j(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
  note(id: $id) {
    id
    title
    content
    likeCount
    commentCount
    isLiked
    createdAt
    images {
      url
      width
      height
      thumbnailUrl
      __typename
    }
    author {
      id
      nickname
      avatarUrl
      isFollowed
      city
      __typename
    }
    shop {
      ...NoteShop
      __typename
    }
    firstLikers(first: 8) {
      id
      nickname
      avatarUrl
      __typename
    }
    __typename
  }
}
fragment NoteShop on Shop {
  id
  name
  area
  score
  images {
    thumbnailUrl
    __typename
  }
  type {
    id
    name
    __typename
  }
  __typename
}`),F=j(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),I=j(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
  note(id: $noteId) {
    id
    comments(first: 20, after: $after) {
      edges {
        node {
          ...Thread
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
fragment Thread on Comment {
  ...Comment
  replyCount
  replies(first: 2) {
    edges {
      node {
        ...Reply
        __typename
      }
      __typename
    }
    __typename
  }
  __typename
}
fragment Comment on Comment {
  id
  content
  likeCount
  isLiked
  createdAt
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  __typename
}
fragment Reply on Comment {
  ...Comment
  parent {
    id
    author {
      id
      nickname
      __typename
    }
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),L=j(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
  node(id: $commentId) {
    ... on Comment {
      id
      replies(first: 20, after: $after) {
        edges {
          node {
            ...Reply
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
    __typename
  }
}
fragment Reply on Comment {
  ...Comment
  parent {
    id
    author {
      id
      nickname
      __typename
    }
    __typename
  }
  __typename
}
fragment Comment on Comment {
  id
  content
  likeCount
  isLiked
  createdAt
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),R=j(`852eb5ebccd971f130f797912592445a2f21d71e41220967f4033919ad8d03c3`,`mutation AddComment($input: AddCommentInput!) {
  addComment(input: $input) {
    comment {
      ...Reply
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Reply on Comment {
  ...Comment
  parent {
    id
    author {
      id
      nickname
      __typename
    }
    __typename
  }
  __typename
}
fragment Comment on Comment {
  id
  content
  likeCount
  isLiked
  createdAt
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),z=j(`0da07ddff6e9059cd6fb9739987377cee9f6febef4b49a4ba0a6149aba9e3c2e`,`mutation LikeComment($id: ID!) {
  likeComment(id: $id) {
    comment {
      id
      isLiked
      likeCount
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
}`),B=j(`bf70852907243bcb35e3ea3ddf21bc6c204fe80efe6101f0119455adb5bd49ca`,`mutation UnlikeComment($id: ID!) {
  unlikeComment(id: $id) {
    comment {
      id
      isLiked
      likeCount
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
}`),V=j(`65fffd7da3cdeeaff19ccc715b97aa5da7374b78aa6eb3647ce24d0fe6ffe979`,`mutation DeleteNote($id: ID!) {
  deleteNote(id: $id) {
    deletedNoteId
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
}`),H=r(),U=s({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),W=500,G=2;function K({noteId:e,count:t}){let n=U(),{number:r}=h();return(0,H.jsxs)(`section`,{className:N.section,"aria-labelledby":`comments`,children:[(0,H.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,H.jsx)(Y,{noteId:e,label:n.add}),(0,H.jsx)(E,{name:`comments`,document:I,variables:{noteId:e},connection:({note:e})=>e?.comments,className:N.list,loading:(0,H.jsx)(C,{shape:`text`,count:2}),empty:(0,H.jsx)(ne,{title:n.none}),children:({node:t})=>(0,H.jsx)(q,{noteId:e,thread:t})})]})}function q({noteId:e,thread:t}){let n=U(),{number:r}=h(),[i,a]=o(`replies:${t.id}`,!1),s=n=>(0,H.jsx)(J,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>a(!0)}),c=t.replies.edges.length>0&&(0,H.jsx)(`ul`,{className:N.replies,children:t.replies.edges.map(({node:e})=>(0,H.jsx)(`li`,{children:s(e)},e.id))});return(0,H.jsxs)(H.Fragment,{children:[(0,H.jsx)(J,{noteId:e,comment:t,onAnswered:()=>a(!0)}),i&&t.replyCount>G?(0,H.jsx)(E,{name:`replies-of:${t.id}`,document:L,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:N.replies,loading:c||(0,H.jsx)(C,{shape:`text`}),empty:null,children:({node:e})=>s(e)}):(0,H.jsxs)(H.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,H.jsx)(`div`,{className:N.more,children:(0,H.jsx)(l,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function J({noteId:e,comment:t,to:n=null,onAnswered:r}){let i=U(),{ago:a}=h(),o=A(),[s,u]=(0,M.useState)(!1),d=(0,M.useRef)(null),[f]=_(z),[p]=_(B),{author:m}=t,v=()=>{u(!1),d.current?.querySelector(`button`)?.focus()};return(0,H.jsxs)(`article`,{className:N.comment,"data-comment":t.id,children:[(0,H.jsx)(T,{user:m,size:36}),(0,H.jsxs)(`div`,{className:N.body,children:[(0,H.jsxs)(`p`,{className:N.head,children:[(0,H.jsx)(c,{href:`/users/${m.id}`,className:N.name,children:m.nickname}),n!==null&&(0,H.jsxs)(`span`,{children:[i.to,` `,(0,H.jsx)(c,{href:`/users/${n.id}`,className:N.name,children:n.nickname})]}),(0,H.jsx)(`time`,{dateTime:t.createdAt,children:a(t.createdAt)})]}),(0,H.jsx)(`p`,{className:N.content,children:t.content}),(0,H.jsxs)(`div`,{className:N.acts,children:[(0,H.jsx)(g,{label:i.like(m.nickname),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?p:f)({id:t.id})}),o!==null&&(0,H.jsx)(`span`,{ref:d,children:(0,H.jsx)(l,{kind:`plain`,small:!0,"aria-expanded":s,"aria-label":i.replyTo(m.nickname),onClick:()=>s?v():u(!0),children:i.reply})})]}),s&&(0,H.jsx)(Y,{noteId:e,parentId:t.id,label:i.replyTo(m.nickname),onCancel:v,onSent:()=>{v(),r()}})]})]})}function Y({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=U(),{number:s}=h(),c=A(),d=p(),[f,m]=o(`comment:${t??``}`,``),[g,y]=(0,M.useState)(),[b,x]=_(R,{say:!1}),S=(0,M.useId)();if(c===null)return(0,H.jsx)(u,{kind:`quiet`,href:D(),children:a.signIn});let C=f.trim(),w=W-[...C].length;return(0,H.jsxs)(`form`,{className:N.composer,id:S,onSubmit:async n=>{if(n.preventDefault(),x||C===``||w<0)return;y(void 0);let r=await b({input:{noteId:e,content:C,parentId:t??null}});if(r.ok){m(``),i?.();return}let o=v(r.refusals,`content`)??r.refusals[0];o?y(d(o)):r.error?.networkError&&navigator.onLine&&y(a.doubt)},children:[(0,H.jsx)(ee,{label:n,error:w<0?a.left(s(w)):g,...w<100&&w>=0?{hint:a.left(s(w))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:f,onChange:e=>m(e.target.value)}),(C!==``||r)&&(0,H.jsxs)(`div`,{className:N.send,children:[r&&(0,H.jsx)(l,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,H.jsx)(l,{type:`submit`,small:!0,busy:x,disabled:C===``||w<0,children:a.send})]})]})}var X={gallery:`_gallery_1eyjw_1`,pictures:`_pictures_1eyjw_7`,steps:`_steps_1eyjw_30`,dots:`_dots_1eyjw_43`},oe=s({pictures:`Pictures`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:`图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`}),se=3/4,ce=16/9;function Z({images:e}){let t=oe(),n=(0,M.useRef)(null),[r,o]=(0,M.useState)(0),[s]=e,c=s?.width&&s.height?s.width/s.height:4/3,l=e=>n.current?.scrollTo({left:e*n.current.clientWidth,behavior:`smooth`});return(0,H.jsxs)(`section`,{className:X.gallery,"aria-label":t.pictures,children:[(0,H.jsx)(`ul`,{ref:n,className:X.pictures,style:{aspectRatio:Math.min(Math.max(c,se),ce)},tabIndex:e.length>1?0:void 0,"aria-label":t.pictures,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>o(Math.round(e/Math.max(t,1))),children:e.map(({url:n,width:r,height:i},a)=>(0,H.jsx)(`li`,{children:(0,H.jsx)(`img`,{src:n,alt:t.picture(a+1,e.length),...r!==null&&i!==null?{width:r,height:i}:{},loading:a===0?`eager`:`lazy`,decoding:`async`})},n))}),e.length>1&&(0,H.jsxs)(`div`,{className:X.steps,children:[(0,H.jsx)(i,{label:t.before,disabled:r===0,onClick:()=>l(r-1),children:(0,H.jsx)(a,{"aria-hidden":`true`})}),(0,H.jsx)(`span`,{className:X.dots,"aria-hidden":`true`,children:e.map(({url:e},t)=>(0,H.jsx)(`span`,{"data-shown":t===r||void 0},e))}),(0,H.jsx)(`span`,{className:`unseen`,role:`status`,children:t.picture(r+1,e.length)}),(0,H.jsx)(i,{label:t.next,disabled:r===e.length-1,onClick:()=>l(r+1),children:(0,H.jsx)(ae,{"aria-hidden":`true`})})]})]})}var Q={columns:`_columns_90e4w_1`,column:`_column_90e4w_1`,text:`_text_90e4w_12`,author:`_author_90e4w_20`,name:`_name_90e4w_32`,facts:`_facts_90e4w_37`,content:`_content_90e4w_45`,shop:`_shop_90e4w_51`,sign:`_sign_90e4w_63`,link:`_link_90e4w_67`,likes:`_likes_90e4w_78`,likers:`_likers_90e4w_87`,choice:`_choice_90e4w_99`},$=s({title:`Note`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function le({id:e}){let t=$(),[{data:n,error:r},i]=w({query:P,variables:{id:e}}),[a,o]=(0,M.useState)(!1);if(a)return null;if(n?.note===null||r&&m(r)===`BAD_USER_INPUT`)return(0,H.jsx)(re,{});if(!n?.note)return(0,H.jsx)(d,{title:t.title,up:`/`,children:r?(0,H.jsx)(te,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,H.jsx)(C,{shape:`card`})});let{note:s}=n;return(0,H.jsx)(d,{title:s.title,up:`/`,action:(0,H.jsx)(pe,{note:s,onGone:o}),children:(0,H.jsxs)(`div`,{className:s.images.length>0?Q.columns:Q.column,"data-note":s.id,children:[s.images.length>0&&(0,H.jsx)(Z,{images:s.images}),(0,H.jsxs)(`div`,{className:Q.text,children:[(0,H.jsx)(ue,{note:s}),(0,H.jsx)(`p`,{className:Q.content,children:s.content}),(0,H.jsx)(de,{shop:s.shop}),(0,H.jsx)(fe,{note:s}),(0,H.jsx)(K,{noteId:s.id,count:s.commentCount})]})]})})}function ue({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=h();return(0,H.jsxs)(`div`,{className:Q.author,children:[(0,H.jsx)(T,{user:e,size:44}),(0,H.jsxs)(`p`,{children:[(0,H.jsx)(c,{href:`/users/${e.id}`,className:Q.name,children:e.nickname}),(0,H.jsxs)(`span`,{className:Q.facts,children:[(0,H.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,H.jsx)(`span`,{children:e.city})]})]}),(0,H.jsx)(k,{user:e,small:!0})]})}function de({shop:e}){let t=$(),n=x();return(0,H.jsxs)(`section`,{className:Q.shop,"aria-labelledby":`shop`,children:[(0,H.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,H.jsx)(`div`,{className:Q.sign,children:(0,H.jsx)(y,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,H.jsxs)(`div`,{children:[(0,H.jsx)(`h3`,{children:(0,H.jsx)(c,{href:`/shops/${e.id}`,className:Q.link,children:e.name})}),(0,H.jsxs)(`p`,{className:Q.facts,children:[(0,H.jsx)(S,{value:e.score}),(0,H.jsx)(`span`,{children:n(e.type.name)}),e.area!==null&&(0,H.jsx)(`span`,{children:e.area})]})]})]})}function fe({note:e}){let t=$();return(0,H.jsxs)(`div`,{className:Q.likes,children:[(0,H.jsx)(b,{note:e}),e.firstLikers.length>0&&(0,H.jsx)(`ul`,{className:Q.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,H.jsx)(`li`,{children:(0,H.jsx)(c,{href:`/users/${e.id}`,"aria-label":e.nickname,title:e.nickname,children:(0,H.jsx)(T,{user:e,size:32})})},e.id))})]})}function pe({note:e,onGone:n}){let r=$(),a=A(),[,o]=f(),[s,c]=(0,M.useState)(!1),[u,d]=_(V),[{data:p}]=w({query:F,variables:{},requestPolicy:`cache-first`,pause:a===null,catchUp:!1});return a===null||a.userId!==e.author.id&&p?.me?.role!==`ADMIN`?null:(0,H.jsxs)(H.Fragment,{children:[(0,H.jsx)(i,{label:r.remove,onClick:()=>c(!0),children:(0,H.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,H.jsxs)(O,{title:r.sure,onClose:()=>c(!1),children:[(0,H.jsx)(`p`,{children:r.gone}),(0,H.jsxs)(`div`,{className:Q.choice,children:[(0,H.jsx)(l,{kind:`quiet`,onClick:()=>c(!1),children:r.no}),(0,H.jsx)(l,{busy:d,onClick:async()=>{(await u({id:e.id})).ok&&(n(!0),ie(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{le as Note};