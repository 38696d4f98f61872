import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-C-EClg_9.js";import{i as n,l as r,r as i}from"./preload-helper-DXbBgPnf.js";import{S as a,_ as o,a as s,c,l,s as u,t as d,u as f}from"./Screen-CJ1iDuWr.js";import{r as p,t as m}from"./errors-DTJNFjfx.js";import{t as h}from"./useApiQuery-DhNs3sUT.js";import{A as g,E as ee,N as _,O as v,P as y,T as b,_ as x,b as S,f as C,g as w,h as T,j as E,k as D,p as O,u as k,w as A,x as j}from"./app-VJxpKxNi.js";import{t as te}from"./FollowButton-BkukSQtU.js";import{NotFound as ne}from"./NotFound-B13sP8Kt.js";import{a as M}from"./session-DRJnfh9f.js";import{t as re}from"./Gallery-gpUOzXlS.js";import{n as ie}from"./toast--XnaLTgW.js";import{t as N}from"./outcomeUnknown-BcwhW2en.js";import{t as P}from"./document-D_a4HVPm.js";var F=e(r(),1),I={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},L=P(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),R=P(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),z=P(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),B=P(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),V=P(`1a9ba8a4437dc48a7c33320407dd3ff338181c8f1ba4205f9de930e9da13befc`,`mutation AddComment($input: AddCommentInput!) {
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
}`),H=P(`dd250a8a8f2c217fc5c0e938e8deeb8b16f5d64c299cbb7b4fc0b2cf997ff663`,`mutation LikeComment($id: ID!) {
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
}`),U=P(`5160c1f7ab750d53cfc66b529bbd96b7aa286a0219d44709957dfd66ba03f07e`,`mutation UnlikeComment($id: ID!) {
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
}`),W=P(`53404f4b75ef18e78f50e65ee91cdeeb9cde19b87f6a2ab6f728c1b6a4d8a9c9`,`mutation DeleteNote($id: ID!) {
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
}`),G=n(),K=f({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`No comments yet. Be the first to comment.`,like:e=>`Like ${e}’s comment`,repliedTo:`replied to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,outcomeUnknown:`We couldn’t confirm that your comment was posted. Check before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,repliedTo:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,outcomeUnknown:`无法确认评论是否已发送，再次发送前请先查看。`}),q=500,J=2;function ae({noteId:e,count:t}){let n=K(),{number:r}=y();return(0,G.jsxs)(`section`,{className:I.section,"aria-labelledby":`comments`,children:[(0,G.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,G.jsx)(X,{noteId:e,label:n.add}),(0,G.jsx)(k,{name:`comments`,document:z,variables:{noteId:e},connection:({note:e})=>e?.comments,className:I.list,loading:(0,G.jsx)(x,{shape:`text`,count:2}),empty:(0,G.jsx)(T,{title:n.none}),children:({node:t})=>(0,G.jsx)(oe,{noteId:e,thread:t})})]})}function oe({noteId:e,thread:t}){let n=K(),{number:r}=y(),[i,a]=s(`replies:${t.id}`,!1),o=n=>(0,G.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onReplied:()=>a(!0)}),c=t.replies.edges.length>0&&(0,G.jsx)(`ul`,{className:I.replies,children:t.replies.edges.map(({node:e})=>(0,G.jsx)(`li`,{children:o(e)},e.id))});return(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(Y,{noteId:e,comment:t,onReplied:()=>a(!0)}),i&&t.replyCount>J?(0,G.jsx)(k,{name:`replies-of:${t.id}`,document:B,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:I.replies,loading:c||(0,G.jsx)(x,{shape:`text`}),empty:null,children:({node:e})=>o(e)}):(0,G.jsxs)(G.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,G.jsx)(`div`,{className:I.more,children:(0,G.jsx)(u,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onReplied:r}){let a=K(),{ago:s}=y(),c=M(),[l,d]=(0,F.useState)(!1),f=(0,F.useRef)(null),[p]=v(H),[m]=v(U),{author:h}=t,g=()=>{d(!1),f.current?.querySelector(`button`)?.focus()};return(0,G.jsxs)(`article`,{className:I.comment,"data-comment":t.id,children:[(0,G.jsx)(E,{user:h,size:36}),(0,G.jsxs)(`div`,{className:I.body,children:[(0,G.jsxs)(`p`,{className:I.head,children:[(0,G.jsx)(o,{href:`/users/${h.id}`,className:I.name,dir:`auto`,children:h.nickname}),n!==null&&(0,G.jsxs)(`span`,{children:[a.repliedTo,` `,(0,G.jsx)(o,{href:`/users/${n.id}`,className:I.name,dir:`auto`,children:n.nickname})]}),(0,G.jsx)(`time`,{dateTime:t.createdAt,children:s(t.createdAt)})]}),(0,G.jsx)(`p`,{className:I.content,dir:`auto`,children:t.content}),(0,G.jsxs)(`div`,{className:I.acts,children:[(0,G.jsx)(b,{label:a.like(i(h.nickname)),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?m:p)({id:t.id})}),c!==null&&(0,G.jsx)(`span`,{ref:f,children:(0,G.jsx)(u,{kind:`plain`,small:!0,"aria-expanded":l,"aria-label":a.replyTo(i(h.nickname)),onClick:()=>l?g():d(!0),children:a.reply})})]}),l&&(0,G.jsx)(X,{noteId:e,parentId:t.id,label:a.replyTo(i(h.nickname)),onCancel:g,onSent:()=>{g(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=K(),{number:o}=y(),l=M(),d=p(),f=`comment:${l?.userId??``}:${t??``}`,[m,h]=s(f,``),g=(0,F.useRef)(m),[b,x]=(0,F.useState)(),[C,w]=v(V,{toastErrors:!1}),T=(0,F.useId)();if(l===null)return(0,G.jsx)(c,{kind:`quiet`,href:ee(),children:a.signIn});let E=m.trim(),O=q-_(E);return(0,G.jsxs)(`form`,{className:I.composer,id:T,onSubmit:async n=>{if(n.preventDefault(),w||E===``||O<0)return;x(void 0);let r=await C({input:{noteId:e,content:E,parentId:t??null}});if(r.ok){g.current===m&&h(``),i?.();return}let o=D(r.userErrors,`content`)??r.userErrors[0];o?x(d(o)):N(r.error)&&navigator.onLine&&x(a.outcomeUnknown)},children:[(0,G.jsx)(S,{label:n,error:O<0?a.left(o(O)):b,...O<100&&O>=0?{hint:a.left(o(O))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:m,onChange:({target:{value:e}})=>{g.current=e,h(e)}}),(E!==``||r)&&(0,G.jsxs)(`div`,{className:I.send,children:[r&&(0,G.jsx)(u,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,G.jsx)(u,{type:`submit`,small:!0,busy:w,disabled:E===``||O<0,children:a.send})]})]})}var Z={columns:`_columns_7dcf8_1`,column:`_column_7dcf8_1`,pictures:`_pictures_7dcf8_12`,text:`_text_7dcf8_16`,author:`_author_7dcf8_24`,name:`_name_7dcf8_36`,facts:`_facts_7dcf8_41`,content:`_content_7dcf8_49`,shop:`_shop_7dcf8_55`,shopPicture:`_shopPicture_7dcf8_67`,link:`_link_7dcf8_71`,likes:`_likes_7dcf8_82`,likers:`_likers_7dcf8_91`,choice:`_choice_7dcf8_103`},Q=f({title:`Note`,pictures:`Photos`,remove:`Delete note`,removeTitle:`Delete this note?`,removeText:`Its comments will be deleted too. You can’t undo this.`,yes:`Delete`,no:`Keep note`,deleted:`Note deleted.`,shop:`Shop`,liked:`First liked by`},{title:`笔记`,pictures:`图片`,remove:`删除笔记`,removeTitle:`删除这篇笔记？`,removeText:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`店铺`,liked:`最早点赞`});function se({id:e}){let t=Q(),[{data:n,error:r},i]=h({query:L,variables:{id:e}}),[a,o]=(0,F.useState)(!1);if(a)return null;if(n?.note===null||r&&m(r)===`BAD_USER_INPUT`)return(0,G.jsx)(ne,{});if(!n?.note)return(0,G.jsx)(d,{title:t.title,backTo:`/`,children:r?(0,G.jsx)(w,{error:r,onRetry:()=>i({requestPolicy:`network-only`})}):(0,G.jsx)(x,{shape:`card`})});let{note:s}=n;return(0,G.jsx)(d,{title:s.title,backTo:`/`,action:(0,G.jsx)(pe,{note:s,onDeleted:o}),children:(0,G.jsxs)(`div`,{className:s.images.length>0?Z.columns:Z.column,"data-note":s.id,children:[s.images.length>0&&(0,G.jsx)(`div`,{className:Z.pictures,children:(0,G.jsx)(re,{label:t.pictures,images:s.images,ratio:$(s.images),whole:!0})}),(0,G.jsxs)(`div`,{className:Z.text,children:[(0,G.jsx)(ue,{note:s}),(0,G.jsx)(`p`,{className:Z.content,dir:`auto`,children:s.content}),(0,G.jsx)(de,{shop:s.shop}),(0,G.jsx)(fe,{note:s}),(0,G.jsx)(ae,{noteId:s.id,count:s.commentCount})]})]})})}var ce=3/4,le=16/9;function $([e]){let t=e?.width&&e.height?e.width/e.height:4/3;return Math.min(Math.max(t,ce),le)}function ue({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=y();return(0,G.jsxs)(`div`,{className:Z.author,children:[(0,G.jsx)(E,{user:e,size:44}),(0,G.jsxs)(`p`,{children:[(0,G.jsx)(o,{href:`/users/${e.id}`,className:Z.name,dir:`auto`,children:e.nickname}),(0,G.jsxs)(`span`,{className:Z.facts,children:[(0,G.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,G.jsx)(`span`,{dir:`auto`,children:e.city})]})]}),(0,G.jsx)(te,{user:e,small:!0})]})}function de({shop:e}){let t=Q(),n=C();return(0,G.jsxs)(`section`,{className:Z.shop,"aria-labelledby":`shop`,children:[(0,G.jsx)(`h2`,{id:`shop`,className:`visually-hidden`,children:t.shop}),(0,G.jsx)(`div`,{className:Z.shopPicture,children:(0,G.jsx)(g,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,G.jsxs)(`div`,{children:[(0,G.jsx)(`h3`,{dir:`auto`,children:(0,G.jsx)(o,{href:`/shops/${e.id}`,className:Z.link,children:e.name})}),(0,G.jsxs)(`p`,{className:Z.facts,children:[(0,G.jsx)(O,{value:e.score}),(0,G.jsx)(`span`,{dir:`auto`,children:n(e.type.name)}),e.area!==null&&(0,G.jsx)(`span`,{dir:`auto`,children:e.area})]})]})]})}function fe({note:e}){let t=Q();return(0,G.jsxs)(`div`,{className:Z.likes,children:[(0,G.jsx)(A,{note:e}),e.firstLikers.length>0&&(0,G.jsx)(`ul`,{className:Z.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,G.jsx)(`li`,{children:(0,G.jsx)(o,{href:`/users/${e.id}`,"aria-label":e.nickname,title:i(e.nickname),children:(0,G.jsx)(E,{user:e,size:32})})},e.id))})]})}function pe({note:e,onDeleted:n}){let r=Q(),i=M(),[,o]=a(),[s,c]=(0,F.useState)(!1),[d,f]=v(W),[{data:p}]=h({query:R,variables:{},requestPolicy:`cache-first`,pause:i===null,refetchOnResume:!1});return i===null||i.userId!==e.author.id&&p?.me?.role!==`ADMIN`?null:(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(l,{label:r.remove,onClick:()=>c(!0),children:(0,G.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,G.jsxs)(j,{title:r.removeTitle,onClose:()=>c(!1),children:[(0,G.jsx)(`p`,{children:r.removeText}),(0,G.jsxs)(`div`,{className:Z.choice,children:[(0,G.jsx)(u,{kind:`quiet`,onClick:()=>c(!1),children:r.no}),(0,G.jsx)(u,{busy:f,onClick:async()=>{(await d({id:e.id})).ok&&(n(!0),ie(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{se as Note};