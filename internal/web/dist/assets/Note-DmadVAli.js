import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-dPkD6qQT.js";import{a as n,n as r}from"./preload-helper-Chrg9qMa.js";import{S as i,_ as a,a as o,c as s,l as c,p as l,s as u,t as d,u as f}from"./Screen-CySPHyEf.js";import{r as p,t as m}from"./errors-Bh1mlnZ7.js";import{A as h,C as g,D as _,M as v,O as y,T as ee,_ as b,b as x,f as S,g as C,h as w,j as T,k as E,m as D,p as te,u as O,w as ne}from"./app-DtL_Xucx.js";import{t as re}from"./FollowButton-dMrUW3DR.js";import{Lost as k}from"./Lost-DcSZlVhj.js";import{a as A}from"./session-rGo10Wj6.js";import{n as ie}from"./toast-ZrJXNZZ4.js";import{t as j}from"./document-bm9CNBvx.js";import{t as M}from"./chevron-right-P6z1uPP1.js";var N=e(n(),1),P={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},F=j(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),I=j(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),L=j(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),R=j(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),z=j(`852eb5ebccd971f130f797912592445a2f21d71e41220967f4033919ad8d03c3`,`mutation AddComment($input: AddCommentInput!) {
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
}`),B=j(`0da07ddff6e9059cd6fb9739987377cee9f6febef4b49a4ba0a6149aba9e3c2e`,`mutation LikeComment($id: ID!) {
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
}`),V=j(`bf70852907243bcb35e3ea3ddf21bc6c204fe80efe6101f0119455adb5bd49ca`,`mutation UnlikeComment($id: ID!) {
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
}`),H=j(`65fffd7da3cdeeaff19ccc715b97aa5da7374b78aa6eb3647ce24d0fe6ffe979`,`mutation DeleteNote($id: ID!) {
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
}`),U=r(),W=f({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),G=500,K=2;function q({noteId:e,count:t}){let n=W(),{number:r}=T();return(0,U.jsxs)(`section`,{className:P.section,"aria-labelledby":`comments`,children:[(0,U.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,U.jsx)(X,{noteId:e,label:n.add}),(0,U.jsx)(O,{name:`comments`,document:L,variables:{noteId:e},connection:({note:e})=>e?.comments,className:P.list,loading:(0,U.jsx)(C,{shape:`text`,count:2}),empty:(0,U.jsx)(D,{title:n.none}),children:({node:t})=>(0,U.jsx)(J,{noteId:e,thread:t})})]})}function J({noteId:e,thread:t}){let n=W(),{number:r}=T(),[i,a]=o(`replies:${t.id}`,!1),s=n=>(0,U.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>a(!0)}),c=t.replies.edges.length>0&&(0,U.jsx)(`ul`,{className:P.replies,children:t.replies.edges.map(({node:e})=>(0,U.jsx)(`li`,{children:s(e)},e.id))});return(0,U.jsxs)(U.Fragment,{children:[(0,U.jsx)(Y,{noteId:e,comment:t,onAnswered:()=>a(!0)}),i&&t.replyCount>K?(0,U.jsx)(O,{name:`replies-of:${t.id}`,document:R,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:P.replies,loading:c||(0,U.jsx)(C,{shape:`text`}),empty:null,children:({node:e})=>s(e)}):(0,U.jsxs)(U.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,U.jsx)(`div`,{className:P.more,children:(0,U.jsx)(u,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onAnswered:r}){let i=W(),{ago:o}=T(),s=A(),[c,l]=(0,N.useState)(!1),d=(0,N.useRef)(null),[f]=y(B),[p]=y(V),{author:m}=t,g=()=>{l(!1),d.current?.querySelector(`button`)?.focus()};return(0,U.jsxs)(`article`,{className:P.comment,"data-comment":t.id,children:[(0,U.jsx)(h,{user:m,size:36}),(0,U.jsxs)(`div`,{className:P.body,children:[(0,U.jsxs)(`p`,{className:P.head,children:[(0,U.jsx)(a,{href:`/users/${m.id}`,className:P.name,children:m.nickname}),n!==null&&(0,U.jsxs)(`span`,{children:[i.to,` `,(0,U.jsx)(a,{href:`/users/${n.id}`,className:P.name,children:n.nickname})]}),(0,U.jsx)(`time`,{dateTime:t.createdAt,children:o(t.createdAt)})]}),(0,U.jsx)(`p`,{className:P.content,children:t.content}),(0,U.jsxs)(`div`,{className:P.acts,children:[(0,U.jsx)(ne,{label:i.like(m.nickname),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?p:f)({id:t.id})}),s!==null&&(0,U.jsx)(`span`,{ref:d,children:(0,U.jsx)(u,{kind:`plain`,small:!0,"aria-expanded":c,"aria-label":i.replyTo(m.nickname),onClick:()=>c?g():l(!0),children:i.reply})})]}),c&&(0,U.jsx)(X,{noteId:e,parentId:t.id,label:i.replyTo(m.nickname),onCancel:g,onSent:()=>{g(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=W(),{number:c}=T(),l=A(),d=p(),[f,m]=o(`comment:${t??``}`,``),[h,g]=(0,N.useState)(),[v,x]=y(z,{say:!1}),S=(0,N.useId)();if(l===null)return(0,U.jsx)(s,{kind:`quiet`,href:ee(),children:a.signIn});let C=f.trim(),w=G-[...C].length;return(0,U.jsxs)(`form`,{className:P.composer,id:S,onSubmit:async n=>{if(n.preventDefault(),x||C===``||w<0)return;g(void 0);let r=await v({input:{noteId:e,content:C,parentId:t??null}});if(r.ok){m(``),i?.();return}let o=_(r.refusals,`content`)??r.refusals[0];o?g(d(o)):r.error?.networkError&&navigator.onLine&&g(a.doubt)},children:[(0,U.jsx)(b,{label:n,error:w<0?a.left(c(w)):h,...w<100&&w>=0?{hint:a.left(c(w))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:f,onChange:e=>m(e.target.value)}),(C!==``||r)&&(0,U.jsxs)(`div`,{className:P.send,children:[r&&(0,U.jsx)(u,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,U.jsx)(u,{type:`submit`,small:!0,busy:x,disabled:C===``||w<0,children:a.send})]})]})}var Z={gallery:`_gallery_1eyjw_1`,pictures:`_pictures_1eyjw_7`,steps:`_steps_1eyjw_30`,dots:`_dots_1eyjw_43`},ae=f({pictures:`Pictures`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:`图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`}),oe=3/4,se=16/9;function ce({images:e}){let t=ae(),n=(0,N.useRef)(null),[r,i]=(0,N.useState)(0),[a]=e,o=a?.width&&a.height?a.width/a.height:4/3,s=e=>n.current?.scrollTo({left:e*n.current.clientWidth,behavior:`smooth`});return(0,U.jsxs)(`section`,{className:Z.gallery,"aria-label":t.pictures,children:[(0,U.jsx)(`ul`,{ref:n,className:Z.pictures,style:{aspectRatio:Math.min(Math.max(o,oe),se)},tabIndex:e.length>1?0:void 0,"aria-label":t.pictures,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>i(Math.round(e/Math.max(t,1))),children:e.map(({url:n,width:r,height:i},a)=>(0,U.jsx)(`li`,{children:(0,U.jsx)(`img`,{src:n,alt:t.picture(a+1,e.length),...r!==null&&i!==null?{width:r,height:i}:{},loading:a===0?`eager`:`lazy`,decoding:`async`})},n))}),e.length>1&&(0,U.jsxs)(`div`,{className:Z.steps,children:[(0,U.jsx)(c,{label:t.before,disabled:r===0,onClick:()=>s(r-1),children:(0,U.jsx)(l,{"aria-hidden":`true`})}),(0,U.jsx)(`span`,{className:Z.dots,"aria-hidden":`true`,children:e.map(({url:e},t)=>(0,U.jsx)(`span`,{"data-shown":t===r||void 0},e))}),(0,U.jsx)(`span`,{className:`unseen`,role:`status`,children:t.picture(r+1,e.length)}),(0,U.jsx)(c,{label:t.next,disabled:r===e.length-1,onClick:()=>s(r+1),children:(0,U.jsx)(M,{"aria-hidden":`true`})})]})]})}var Q={columns:`_columns_90e4w_1`,column:`_column_90e4w_1`,text:`_text_90e4w_12`,author:`_author_90e4w_20`,name:`_name_90e4w_32`,facts:`_facts_90e4w_37`,content:`_content_90e4w_45`,shop:`_shop_90e4w_51`,sign:`_sign_90e4w_63`,link:`_link_90e4w_67`,likes:`_likes_90e4w_78`,likers:`_likers_90e4w_87`,choice:`_choice_90e4w_99`},$=f({title:`Note`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function le({id:e}){let t=$(),[{data:n,error:r},i]=v({query:F,variables:{id:e}}),[a,o]=(0,N.useState)(!1);if(a)return null;if(n?.note===null||r&&m(r)===`BAD_USER_INPUT`)return(0,U.jsx)(k,{});if(!n?.note)return(0,U.jsx)(d,{title:t.title,up:`/`,children:r?(0,U.jsx)(w,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,U.jsx)(C,{shape:`card`})});let{note:s}=n;return(0,U.jsx)(d,{title:s.title,up:`/`,action:(0,U.jsx)(pe,{note:s,onGone:o}),children:(0,U.jsxs)(`div`,{className:s.images.length>0?Q.columns:Q.column,"data-note":s.id,children:[s.images.length>0&&(0,U.jsx)(ce,{images:s.images}),(0,U.jsxs)(`div`,{className:Q.text,children:[(0,U.jsx)(ue,{note:s}),(0,U.jsx)(`p`,{className:Q.content,children:s.content}),(0,U.jsx)(de,{shop:s.shop}),(0,U.jsx)(fe,{note:s}),(0,U.jsx)(q,{noteId:s.id,count:s.commentCount})]})]})})}function ue({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=T();return(0,U.jsxs)(`div`,{className:Q.author,children:[(0,U.jsx)(h,{user:e,size:44}),(0,U.jsxs)(`p`,{children:[(0,U.jsx)(a,{href:`/users/${e.id}`,className:Q.name,children:e.nickname}),(0,U.jsxs)(`span`,{className:Q.facts,children:[(0,U.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,U.jsx)(`span`,{children:e.city})]})]}),(0,U.jsx)(re,{user:e,small:!0})]})}function de({shop:e}){let t=$(),n=S();return(0,U.jsxs)(`section`,{className:Q.shop,"aria-labelledby":`shop`,children:[(0,U.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,U.jsx)(`div`,{className:Q.sign,children:(0,U.jsx)(E,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,U.jsxs)(`div`,{children:[(0,U.jsx)(`h3`,{children:(0,U.jsx)(a,{href:`/shops/${e.id}`,className:Q.link,children:e.name})}),(0,U.jsxs)(`p`,{className:Q.facts,children:[(0,U.jsx)(te,{value:e.score}),(0,U.jsx)(`span`,{children:n(e.type.name)}),e.area!==null&&(0,U.jsx)(`span`,{children:e.area})]})]})]})}function fe({note:e}){let t=$();return(0,U.jsxs)(`div`,{className:Q.likes,children:[(0,U.jsx)(g,{note:e}),e.firstLikers.length>0&&(0,U.jsx)(`ul`,{className:Q.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,U.jsx)(`li`,{children:(0,U.jsx)(a,{href:`/users/${e.id}`,"aria-label":e.nickname,title:e.nickname,children:(0,U.jsx)(h,{user:e,size:32})})},e.id))})]})}function pe({note:e,onGone:n}){let r=$(),a=A(),[,o]=i(),[s,l]=(0,N.useState)(!1),[d,f]=y(H),[{data:p}]=v({query:I,variables:{},requestPolicy:`cache-first`,pause:a===null,catchUp:!1});return a===null||a.userId!==e.author.id&&p?.me?.role!==`ADMIN`?null:(0,U.jsxs)(U.Fragment,{children:[(0,U.jsx)(c,{label:r.remove,onClick:()=>l(!0),children:(0,U.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,U.jsxs)(x,{title:r.sure,onClose:()=>l(!1),children:[(0,U.jsx)(`p`,{children:r.gone}),(0,U.jsxs)(`div`,{className:Q.choice,children:[(0,U.jsx)(u,{kind:`quiet`,onClick:()=>l(!1),children:r.no}),(0,U.jsx)(u,{busy:f,onClick:async()=>{(await d({id:e.id})).ok&&(n(!0),ie(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{le as Note};