import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-DTicX5al.js";import{a as n,n as r}from"./preload-helper-Chrg9qMa.js";import{S as i,_ as a,a as o,c as s,l as c,s as l,t as u,u as d}from"./Screen-DN1Y-HZ_.js";import{r as f,t as p}from"./errors-DzDCqRf4.js";import{t as m}from"./useAsk-ChgyYjXc.js";import{A as h,E as g,M as _,O as ee,T as v,_ as y,f as b,g as x,h as S,j as C,k as w,p as T,u as E,v as D,w as O,x as k}from"./app-C5XjqgC4.js";import{t as A}from"./FollowButton-BlnjwYKM.js";import{Lost as te}from"./Lost-Cwg82_Ht.js";import{a as j}from"./session-ScJtDdtY.js";import{t as ne}from"./Gallery-Cn3HkF20.js";import{n as re}from"./toast-DI_pCogT.js";import{t as ie}from"./doubt-X-8XjeIo.js";import{t as M}from"./document-bm9CNBvx.js";var N=e(n(),1),P={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},F=M(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),I=M(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),L=M(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),R=M(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),z=M(`852eb5ebccd971f130f797912592445a2f21d71e41220967f4033919ad8d03c3`,`mutation AddComment($input: AddCommentInput!) {
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
}`),B=M(`0da07ddff6e9059cd6fb9739987377cee9f6febef4b49a4ba0a6149aba9e3c2e`,`mutation LikeComment($id: ID!) {
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
}`),V=M(`bf70852907243bcb35e3ea3ddf21bc6c204fe80efe6101f0119455adb5bd49ca`,`mutation UnlikeComment($id: ID!) {
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
}`),H=M(`65fffd7da3cdeeaff19ccc715b97aa5da7374b78aa6eb3647ce24d0fe6ffe979`,`mutation DeleteNote($id: ID!) {
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
}`),U=r(),W=d({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),G=500,K=2;function q({noteId:e,count:t}){let n=W(),{number:r}=_();return(0,U.jsxs)(`section`,{className:P.section,"aria-labelledby":`comments`,children:[(0,U.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,U.jsx)(X,{noteId:e,label:n.add}),(0,U.jsx)(E,{name:`comments`,document:L,variables:{noteId:e},connection:({note:e})=>e?.comments,className:P.list,loading:(0,U.jsx)(y,{shape:`text`,count:2}),empty:(0,U.jsx)(S,{title:n.none}),children:({node:t})=>(0,U.jsx)(J,{noteId:e,thread:t})})]})}function J({noteId:e,thread:t}){let n=W(),{number:r}=_(),[i,a]=o(`replies:${t.id}`,!1),s=n=>(0,U.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>a(!0)}),c=t.replies.edges.length>0&&(0,U.jsx)(`ul`,{className:P.replies,children:t.replies.edges.map(({node:e})=>(0,U.jsx)(`li`,{children:s(e)},e.id))});return(0,U.jsxs)(U.Fragment,{children:[(0,U.jsx)(Y,{noteId:e,comment:t,onAnswered:()=>a(!0)}),i&&t.replyCount>K?(0,U.jsx)(E,{name:`replies-of:${t.id}`,document:R,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:P.replies,loading:c||(0,U.jsx)(y,{shape:`text`}),empty:null,children:({node:e})=>s(e)}):(0,U.jsxs)(U.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,U.jsx)(`div`,{className:P.more,children:(0,U.jsx)(l,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onAnswered:r}){let i=W(),{ago:o}=_(),s=j(),[c,u]=(0,N.useState)(!1),d=(0,N.useRef)(null),[f]=w(B),[p]=w(V),{author:m}=t,h=()=>{u(!1),d.current?.querySelector(`button`)?.focus()};return(0,U.jsxs)(`article`,{className:P.comment,"data-comment":t.id,children:[(0,U.jsx)(C,{user:m,size:36}),(0,U.jsxs)(`div`,{className:P.body,children:[(0,U.jsxs)(`p`,{className:P.head,children:[(0,U.jsx)(a,{href:`/users/${m.id}`,className:P.name,children:m.nickname}),n!==null&&(0,U.jsxs)(`span`,{children:[i.to,` `,(0,U.jsx)(a,{href:`/users/${n.id}`,className:P.name,children:n.nickname})]}),(0,U.jsx)(`time`,{dateTime:t.createdAt,children:o(t.createdAt)})]}),(0,U.jsx)(`p`,{className:P.content,children:t.content}),(0,U.jsxs)(`div`,{className:P.acts,children:[(0,U.jsx)(v,{label:i.like(m.nickname),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?p:f)({id:t.id})}),s!==null&&(0,U.jsx)(`span`,{ref:d,children:(0,U.jsx)(l,{kind:`plain`,small:!0,"aria-expanded":c,"aria-label":i.replyTo(m.nickname),onClick:()=>c?h():u(!0),children:i.reply})})]}),c&&(0,U.jsx)(X,{noteId:e,parentId:t.id,label:i.replyTo(m.nickname),onCancel:h,onSent:()=>{h(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=W(),{number:c}=_(),u=j(),d=f(),p=`comment:${u?.userId??``}:${t??``}`,[m,h]=o(p,``),v=(0,N.useRef)(m),[y,b]=(0,N.useState)(),[x,S]=w(z,{say:!1}),C=(0,N.useId)();if(u===null)return(0,U.jsx)(s,{kind:`quiet`,href:g(),children:a.signIn});let T=m.trim(),E=G-[...T].length;return(0,U.jsxs)(`form`,{className:P.composer,id:C,onSubmit:async n=>{if(n.preventDefault(),S||T===``||E<0)return;b(void 0);let r=await x({input:{noteId:e,content:T,parentId:t??null}});if(r.ok){v.current===m&&h(``),i?.();return}let o=ee(r.refusals,`content`)??r.refusals[0];o?b(d(o)):ie(r.error)&&navigator.onLine&&b(a.doubt)},children:[(0,U.jsx)(D,{label:n,error:E<0?a.left(c(E)):y,...E<100&&E>=0?{hint:a.left(c(E))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:m,onChange:({target:{value:e}})=>{v.current=e,h(e)}}),(T!==``||r)&&(0,U.jsxs)(`div`,{className:P.send,children:[r&&(0,U.jsx)(l,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,U.jsx)(l,{type:`submit`,small:!0,busy:S,disabled:T===``||E<0,children:a.send})]})]})}var Z={columns:`_columns_yyc8e_1`,column:`_column_yyc8e_1`,pictures:`_pictures_yyc8e_12`,text:`_text_yyc8e_16`,author:`_author_yyc8e_24`,name:`_name_yyc8e_36`,facts:`_facts_yyc8e_41`,content:`_content_yyc8e_49`,shop:`_shop_yyc8e_55`,sign:`_sign_yyc8e_67`,link:`_link_yyc8e_71`,likes:`_likes_yyc8e_82`,likers:`_likers_yyc8e_91`,choice:`_choice_yyc8e_103`},Q=d({title:`Note`,pictures:`Pictures`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,pictures:`图片`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function ae({id:e}){let t=Q(),[{data:n,error:r},i]=m({query:F,variables:{id:e}}),[a,o]=(0,N.useState)(!1);if(a)return null;if(n?.note===null||r&&p(r)===`BAD_USER_INPUT`)return(0,U.jsx)(te,{});if(!n?.note)return(0,U.jsx)(u,{title:t.title,up:`/`,children:r?(0,U.jsx)(x,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,U.jsx)(y,{shape:`card`})});let{note:s}=n;return(0,U.jsx)(u,{title:s.title,up:`/`,action:(0,U.jsx)(de,{note:s,onGone:o}),children:(0,U.jsxs)(`div`,{className:s.images.length>0?Z.columns:Z.column,"data-note":s.id,children:[s.images.length>0&&(0,U.jsx)(`div`,{className:Z.pictures,children:(0,U.jsx)(ne,{label:t.pictures,images:s.images,ratio:ce(s.images),whole:!0})}),(0,U.jsxs)(`div`,{className:Z.text,children:[(0,U.jsx)(le,{note:s}),(0,U.jsx)(`p`,{className:Z.content,children:s.content}),(0,U.jsx)($,{shop:s.shop}),(0,U.jsx)(ue,{note:s}),(0,U.jsx)(q,{noteId:s.id,count:s.commentCount})]})]})})}var oe=3/4,se=16/9;function ce([e]){let t=e?.width&&e.height?e.width/e.height:4/3;return Math.min(Math.max(t,oe),se)}function le({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=_();return(0,U.jsxs)(`div`,{className:Z.author,children:[(0,U.jsx)(C,{user:e,size:44}),(0,U.jsxs)(`p`,{children:[(0,U.jsx)(a,{href:`/users/${e.id}`,className:Z.name,children:e.nickname}),(0,U.jsxs)(`span`,{className:Z.facts,children:[(0,U.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,U.jsx)(`span`,{children:e.city})]})]}),(0,U.jsx)(A,{user:e,small:!0})]})}function $({shop:e}){let t=Q(),n=b();return(0,U.jsxs)(`section`,{className:Z.shop,"aria-labelledby":`shop`,children:[(0,U.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,U.jsx)(`div`,{className:Z.sign,children:(0,U.jsx)(h,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,U.jsxs)(`div`,{children:[(0,U.jsx)(`h3`,{children:(0,U.jsx)(a,{href:`/shops/${e.id}`,className:Z.link,children:e.name})}),(0,U.jsxs)(`p`,{className:Z.facts,children:[(0,U.jsx)(T,{value:e.score}),(0,U.jsx)(`span`,{children:n(e.type.name)}),e.area!==null&&(0,U.jsx)(`span`,{children:e.area})]})]})]})}function ue({note:e}){let t=Q();return(0,U.jsxs)(`div`,{className:Z.likes,children:[(0,U.jsx)(O,{note:e}),e.firstLikers.length>0&&(0,U.jsx)(`ul`,{className:Z.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,U.jsx)(`li`,{children:(0,U.jsx)(a,{href:`/users/${e.id}`,"aria-label":e.nickname,title:e.nickname,children:(0,U.jsx)(C,{user:e,size:32})})},e.id))})]})}function de({note:e,onGone:n}){let r=Q(),a=j(),[,o]=i(),[s,u]=(0,N.useState)(!1),[d,f]=w(H),[{data:p}]=m({query:I,variables:{},requestPolicy:`cache-first`,pause:a===null,catchUp:!1});return a===null||a.userId!==e.author.id&&p?.me?.role!==`ADMIN`?null:(0,U.jsxs)(U.Fragment,{children:[(0,U.jsx)(c,{label:r.remove,onClick:()=>u(!0),children:(0,U.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,U.jsxs)(k,{title:r.sure,onClose:()=>u(!1),children:[(0,U.jsx)(`p`,{children:r.gone}),(0,U.jsxs)(`div`,{className:Z.choice,children:[(0,U.jsx)(l,{kind:`quiet`,onClick:()=>u(!1),children:r.no}),(0,U.jsx)(l,{busy:f,onClick:async()=>{(await d({id:e.id})).ok&&(n(!0),re(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{ae as Note};