import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-lLKKbU10.js";import{i as n,l as r,r as i}from"./preload-helper-DXbBgPnf.js";import{h as a,i as o,n as s,r as c,t as l,u}from"./Button-BJNnZ8XN.js";import{r as d,t as f}from"./errors-CWz5aWUu.js";import{t as p}from"./useApiQuery-DhNs3sUT.js";import{n as m,t as h}from"./useApiMutation-fQMMxfHh.js";import{t as g}from"./format-scrNEY_u.js";import{A as _,B as v,E as y,F as b,I as x,L as S,N as C,P as w,T,_ as E,d as D,f as O,k as ee,p as k,v as A,w as j,z as M}from"./app-B0ZPWHu3.js";import{t as N}from"./FollowButton-BV7QSXwy.js";import{NotFound as te}from"./NotFound-D72cODaU.js";import{a as P}from"./session-JQV9-zIN.js";import{t as ne}from"./Gallery-BiJ0bUSf.js";import{n as re}from"./toast--XnaLTgW.js";import{t as ie}from"./outcomeUnknown-DcrMeS2e.js";import{t as F}from"./useSignInGuard-CK1--RHy.js";import{t as I}from"./document-D_a4HVPm.js";var L=e(r(),1),R={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},z=I(`e3746d1df06c88148cce6ddfdff91f3894b5d018a6c18e913ae05cb1c1603dae`,`query Note($id: ID!) {
  note(id: $id) {
    id
    title
    content
    likeCount
    commentCount
    isLiked
    ...SavedNote
    createdAt
    authorRating {
      stars
      __typename
    }
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
fragment SavedNote on Note {
  id
  isSaved
  saveCount
  __typename
}
fragment NoteShop on Shop {
  id
  name
  area
  ...ShopScore
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
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
    __typename
  }
  __typename
}`),B=I(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),V=I(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),H=I(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),U=I(`1a9ba8a4437dc48a7c33320407dd3ff338181c8f1ba4205f9de930e9da13befc`,`mutation AddComment($input: AddCommentInput!) {
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
  retryAfterSeconds
  __typename
}`),W=I(`dd250a8a8f2c217fc5c0e938e8deeb8b16f5d64c299cbb7b4fc0b2cf997ff663`,`mutation LikeComment($id: ID!) {
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
  retryAfterSeconds
  __typename
}`),G=I(`5160c1f7ab750d53cfc66b529bbd96b7aa286a0219d44709957dfd66ba03f07e`,`mutation UnlikeComment($id: ID!) {
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
  retryAfterSeconds
  __typename
}`),K=I(`53404f4b75ef18e78f50e65ee91cdeeb9cde19b87f6a2ab6f728c1b6a4d8a9c9`,`mutation DeleteNote($id: ID!) {
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
  retryAfterSeconds
  __typename
}`),q=n(),J=o({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`No comments yet. Be the first to comment.`,like:e=>`Like ${e}’s comment`,repliedTo:`replied to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,outcomeUnknown:`We couldn’t confirm that your comment was posted. Check before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,repliedTo:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,outcomeUnknown:`无法确认评论是否已发送，再次发送前请先查看。`}),ae=500,oe=2;function se({noteId:e,count:t}){let n=J(),{number:r}=g();return(0,q.jsxs)(`section`,{className:R.section,"aria-labelledby":`comments`,children:[(0,q.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,q.jsx)(X,{noteId:e,label:n.add}),(0,q.jsx)(O,{name:`comments`,document:V,variables:{noteId:e},connection:({note:e})=>e?.comments,className:R.list,loading:(0,q.jsx)(y,{shape:`text`,count:2}),empty:(0,q.jsx)(j,{title:n.none}),children:({node:t})=>(0,q.jsx)(ce,{noteId:e,thread:t})})]})}function ce({noteId:e,thread:t}){let n=J(),{number:r}=g(),[i,a]=k(`replies:${t.id}`,!1),o=n=>(0,q.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onReplied:()=>a(!0)}),s=t.replies.edges.length>0&&(0,q.jsx)(`ul`,{className:R.replies,children:t.replies.edges.map(({node:e})=>(0,q.jsx)(`li`,{children:o(e)},e.id))});return(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(Y,{noteId:e,comment:t,onReplied:()=>a(!0)}),i&&t.replyCount>oe?(0,q.jsx)(O,{name:`replies-of:${t.id}`,document:H,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:R.replies,loading:s||(0,q.jsx)(y,{shape:`text`}),empty:null,children:({node:e})=>o(e)}):(0,q.jsxs)(q.Fragment,{children:[s,t.replyCount>t.replies.edges.length&&(0,q.jsx)(`div`,{className:R.more,children:(0,q.jsx)(l,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onReplied:r}){let a=J(),{ago:o}=g(),s=P(),[c,d]=(0,L.useState)(!1),f=(0,L.useRef)(null),[p]=h(W),[m]=h(G),{author:_}=t,v=()=>{d(!1),f.current?.querySelector(`button`)?.focus()};return(0,q.jsxs)(`article`,{className:R.comment,"data-comment":t.id,children:[(0,q.jsx)(S,{user:_,size:36}),(0,q.jsxs)(`div`,{className:R.body,children:[(0,q.jsxs)(`p`,{className:R.head,children:[(0,q.jsx)(u,{href:`/users/${_.id}`,className:R.name,dir:`auto`,children:_.nickname}),n!==null&&(0,q.jsxs)(`span`,{children:[a.repliedTo,` `,(0,q.jsx)(u,{href:`/users/${n.id}`,className:R.name,dir:`auto`,children:n.nickname})]}),(0,q.jsx)(`time`,{dateTime:t.createdAt,children:o(t.createdAt)})]}),(0,q.jsx)(`p`,{className:R.content,dir:`auto`,children:t.content}),(0,q.jsxs)(`div`,{className:R.acts,children:[(0,q.jsx)(w,{label:a.like(i(_.nickname)),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?m:p)({id:t.id})}),s!==null&&(0,q.jsx)(`span`,{ref:f,children:(0,q.jsx)(l,{kind:`plain`,small:!0,"aria-expanded":c,"aria-label":a.replyTo(i(_.nickname)),onClick:()=>c?v():d(!0),children:a.reply})})]}),c&&(0,q.jsx)(X,{noteId:e,parentId:t.id,label:a.replyTo(i(_.nickname)),onCancel:v,onSent:()=>{v(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=J(),{number:o}=g(),c=P(),u=d(),f=`comment:${c?.userId??``}:${t??``}`,[p,_]=k(f,``),v=(0,L.useRef)(p),[y,b]=(0,L.useState)(),[x,S]=h(U,{toastErrors:!1}),C=(0,L.useId)();if(c===null)return(0,q.jsx)(s,{kind:`quiet`,href:F(),children:a.signIn});let w=p.trim(),T=ae-M(w);return(0,q.jsxs)(`form`,{className:R.composer,id:C,onSubmit:async n=>{if(n.preventDefault(),S||w===``||T<0)return;b(void 0);let r=await x({input:{noteId:e,content:w,parentId:t??null}});if(r.ok){v.current===p&&_(``),i?.();return}let o=m(r.userErrors,`content`)??r.userErrors[0];o?b(u(o)):ie(r.error)&&navigator.onLine&&b(a.outcomeUnknown)},children:[(0,q.jsx)(ee,{label:n,error:T<0?a.left(o(T)):y,...T<100&&T>=0?{hint:a.left(o(T))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:p,onChange:({target:{value:e}})=>{v.current=e,_(e)}}),(w!==``||r)&&(0,q.jsxs)(`div`,{className:R.send,children:[r&&(0,q.jsx)(l,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,q.jsx)(l,{type:`submit`,small:!0,busy:S,disabled:w===``||T<0,children:a.send})]})]})}var Z={columns:`_columns_1uiyn_1`,column:`_column_1uiyn_1`,pictures:`_pictures_1uiyn_12`,text:`_text_1uiyn_16`,author:`_author_1uiyn_24`,name:`_name_1uiyn_36`,facts:`_facts_1uiyn_41`,content:`_content_1uiyn_49`,shop:`_shop_1uiyn_55`,shopPicture:`_shopPicture_1uiyn_67`,link:`_link_1uiyn_71`,likes:`_likes_1uiyn_82`,likers:`_likers_1uiyn_95`,choice:`_choice_1uiyn_107`},Q=o({title:`Note`,pictures:`Photos`,remove:`Delete note`,removeTitle:`Delete this note?`,removeText:`Its comments will be deleted too. You can’t undo this.`,yes:`Delete`,no:`Keep note`,deleted:`Note deleted.`,shop:`Shop`,liked:`First liked by`},{title:`笔记`,pictures:`图片`,remove:`删除笔记`,removeTitle:`删除这篇笔记？`,removeText:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`店铺`,liked:`最早点赞`});function le({id:e}){let t=Q(),[{data:n,error:r},i]=p({query:z,variables:{id:e}}),[a,o]=(0,L.useState)(!1);if(a)return null;if(n?.note===null||r&&f(r)===`BAD_USER_INPUT`)return(0,q.jsx)(te,{});if(!n?.note)return(0,q.jsx)(D,{title:t.title,backTo:`/`,children:r?(0,q.jsx)(T,{error:r,onRetry:()=>i({requestPolicy:`network-only`})}):(0,q.jsx)(y,{shape:`card`})});let{note:s}=n;return(0,q.jsx)(D,{title:s.title,backTo:`/`,action:(0,q.jsx)(he,{note:s,onDeleted:o}),children:(0,q.jsxs)(`div`,{className:s.images.length>0?Z.columns:Z.column,"data-note":s.id,children:[s.images.length>0&&(0,q.jsx)(`div`,{className:Z.pictures,children:(0,q.jsx)(ne,{label:t.pictures,images:s.images,ratio:de(s.images),whole:!0})}),(0,q.jsxs)(`div`,{className:Z.text,children:[(0,q.jsx)(fe,{note:s}),s.authorRating!==null&&(0,q.jsx)(b,{value:s.authorRating.stars,size:20}),(0,q.jsx)(`p`,{className:Z.content,dir:`auto`,children:s.content}),(0,q.jsx)(pe,{shop:s.shop}),(0,q.jsx)(me,{note:s}),(0,q.jsx)(se,{noteId:s.id,count:s.commentCount})]})]})})}var $=3/4,ue=16/9;function de([e]){let t=e?.width&&e.height?e.width/e.height:4/3;return Math.min(Math.max(t,$),ue)}function fe({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=g();return(0,q.jsxs)(`div`,{className:Z.author,children:[(0,q.jsx)(S,{user:e,size:44}),(0,q.jsxs)(`p`,{children:[(0,q.jsx)(u,{href:`/users/${e.id}`,className:Z.name,dir:`auto`,children:e.nickname}),(0,q.jsxs)(`span`,{className:Z.facts,children:[(0,q.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,q.jsx)(`span`,{dir:`auto`,children:e.city})]})]}),(0,q.jsx)(N,{user:e,small:!0})]})}function pe({shop:e}){let t=Q(),n=E();return(0,q.jsxs)(`section`,{className:Z.shop,"aria-labelledby":`shop`,children:[(0,q.jsx)(`h2`,{id:`shop`,className:`visually-hidden`,children:t.shop}),(0,q.jsx)(`div`,{className:Z.shopPicture,children:(0,q.jsx)(x,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`h3`,{dir:`auto`,children:(0,q.jsx)(u,{href:`/shops/${e.id}`,className:Z.link,children:e.name})}),(0,q.jsxs)(`p`,{className:Z.facts,children:[(0,q.jsx)(A,{shop:e}),(0,q.jsx)(`span`,{dir:`auto`,children:n(e.type.name)}),e.area!==null&&(0,q.jsx)(`span`,{dir:`auto`,children:e.area})]})]})]})}function me({note:e}){let t=Q();return(0,q.jsxs)(`div`,{className:Z.likes,children:[(0,q.jsx)(C,{note:e}),e.firstLikers.length>0&&(0,q.jsx)(`ul`,{className:Z.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,q.jsx)(`li`,{children:(0,q.jsx)(u,{href:`/users/${e.id}`,"aria-label":e.nickname,title:i(e.nickname),children:(0,q.jsx)(S,{user:e,size:32})})},e.id))}),(0,q.jsx)(v,{type:`Note`,of:e,name:e.title})]})}function he({note:e,onDeleted:n}){let r=Q(),i=P(),[,o]=a(),[s,u]=(0,L.useState)(!1),[d,f]=h(K),[{data:m}]=p({query:B,variables:{},requestPolicy:`cache-first`,pause:i===null,refetchOnResume:!1});return i===null||i.userId!==e.author.id&&m?.me?.role!==`ADMIN`?null:(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(c,{label:r.remove,onClick:()=>u(!0),children:(0,q.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,q.jsxs)(_,{title:r.removeTitle,onClose:()=>u(!1),children:[(0,q.jsx)(`p`,{children:r.removeText}),(0,q.jsxs)(`div`,{className:Z.choice,children:[(0,q.jsx)(l,{kind:`quiet`,onClick:()=>u(!1),children:r.no}),(0,q.jsx)(l,{busy:f,onClick:async()=>{(await d({id:e.id})).ok&&(n(!0),re(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{le as Note};