import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./trash-DOqq4J38.js";import{i as n,l as r,r as i}from"./preload-helper-DXbBgPnf.js";import{S as a,_ as o,a as s,c,l,s as u,t as d,u as f}from"./Screen-Dmve7E8x.js";import{r as p,t as m}from"./errors-B4YFam2k.js";import{t as h}from"./useAsk-Bqz0_vO1.js";import{A as g,E as _,N as ee,O as v,P as y,T as b,_ as x,f as S,g as C,h as w,j as T,k as E,p as D,u as O,v as k,w as A,x as j}from"./app-irk5DRvc.js";import{t as te}from"./FollowButton-BAqnlMiS.js";import{Lost as ne}from"./Lost-BJUpqodS.js";import{a as M}from"./session-BGVVbN6H.js";import{t as re}from"./Gallery-B4D66Uc2.js";import{n as ie}from"./toast--XnaLTgW.js";import{t as N}from"./doubt-BarTFVUD.js";import{t as P}from"./document-D_a4HVPm.js";var F=e(r(),1),I={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},L=P(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),G=n(),K=f({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),q=500,J=2;function ae({noteId:e,count:t}){let n=K(),{number:r}=y();return(0,G.jsxs)(`section`,{className:I.section,"aria-labelledby":`comments`,children:[(0,G.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,G.jsx)(X,{noteId:e,label:n.add}),(0,G.jsx)(O,{name:`comments`,document:z,variables:{noteId:e},connection:({note:e})=>e?.comments,className:I.list,loading:(0,G.jsx)(x,{shape:`text`,count:2}),empty:(0,G.jsx)(w,{title:n.none}),children:({node:t})=>(0,G.jsx)(oe,{noteId:e,thread:t})})]})}function oe({noteId:e,thread:t}){let n=K(),{number:r}=y(),[i,a]=s(`replies:${t.id}`,!1),o=n=>(0,G.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>a(!0)}),c=t.replies.edges.length>0&&(0,G.jsx)(`ul`,{className:I.replies,children:t.replies.edges.map(({node:e})=>(0,G.jsx)(`li`,{children:o(e)},e.id))});return(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(Y,{noteId:e,comment:t,onAnswered:()=>a(!0)}),i&&t.replyCount>J?(0,G.jsx)(O,{name:`replies-of:${t.id}`,document:B,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:I.replies,loading:c||(0,G.jsx)(x,{shape:`text`}),empty:null,children:({node:e})=>o(e)}):(0,G.jsxs)(G.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,G.jsx)(`div`,{className:I.more,children:(0,G.jsx)(u,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onAnswered:r}){let a=K(),{ago:s}=y(),c=M(),[l,d]=(0,F.useState)(!1),f=(0,F.useRef)(null),[p]=E(H),[m]=E(U),{author:h}=t,g=()=>{d(!1),f.current?.querySelector(`button`)?.focus()};return(0,G.jsxs)(`article`,{className:I.comment,"data-comment":t.id,children:[(0,G.jsx)(T,{user:h,size:36}),(0,G.jsxs)(`div`,{className:I.body,children:[(0,G.jsxs)(`p`,{className:I.head,children:[(0,G.jsx)(o,{href:`/users/${h.id}`,className:I.name,dir:`auto`,children:h.nickname}),n!==null&&(0,G.jsxs)(`span`,{children:[a.to,` `,(0,G.jsx)(o,{href:`/users/${n.id}`,className:I.name,dir:`auto`,children:n.nickname})]}),(0,G.jsx)(`time`,{dateTime:t.createdAt,children:s(t.createdAt)})]}),(0,G.jsx)(`p`,{className:I.content,dir:`auto`,children:t.content}),(0,G.jsxs)(`div`,{className:I.acts,children:[(0,G.jsx)(b,{label:a.like(i(h.nickname)),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?m:p)({id:t.id})}),c!==null&&(0,G.jsx)(`span`,{ref:f,children:(0,G.jsx)(u,{kind:`plain`,small:!0,"aria-expanded":l,"aria-label":a.replyTo(i(h.nickname)),onClick:()=>l?g():d(!0),children:a.reply})})]}),l&&(0,G.jsx)(X,{noteId:e,parentId:t.id,label:a.replyTo(i(h.nickname)),onCancel:g,onSent:()=>{g(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=K(),{number:o}=y(),l=M(),d=p(),f=`comment:${l?.userId??``}:${t??``}`,[m,h]=s(f,``),g=(0,F.useRef)(m),[b,x]=(0,F.useState)(),[S,C]=E(V,{say:!1}),w=(0,F.useId)();if(l===null)return(0,G.jsx)(c,{kind:`quiet`,href:_(),children:a.signIn});let T=m.trim(),D=q-ee(T);return(0,G.jsxs)(`form`,{className:I.composer,id:w,onSubmit:async n=>{if(n.preventDefault(),C||T===``||D<0)return;x(void 0);let r=await S({input:{noteId:e,content:T,parentId:t??null}});if(r.ok){g.current===m&&h(``),i?.();return}let o=v(r.refusals,`content`)??r.refusals[0];o?x(d(o)):N(r.error)&&navigator.onLine&&x(a.doubt)},children:[(0,G.jsx)(k,{label:n,error:D<0?a.left(o(D)):b,...D<100&&D>=0?{hint:a.left(o(D))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:m,onChange:({target:{value:e}})=>{g.current=e,h(e)}}),(T!==``||r)&&(0,G.jsxs)(`div`,{className:I.send,children:[r&&(0,G.jsx)(u,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,G.jsx)(u,{type:`submit`,small:!0,busy:C,disabled:T===``||D<0,children:a.send})]})]})}var Z={columns:`_columns_yyc8e_1`,column:`_column_yyc8e_1`,pictures:`_pictures_yyc8e_12`,text:`_text_yyc8e_16`,author:`_author_yyc8e_24`,name:`_name_yyc8e_36`,facts:`_facts_yyc8e_41`,content:`_content_yyc8e_49`,shop:`_shop_yyc8e_55`,sign:`_sign_yyc8e_67`,link:`_link_yyc8e_71`,likes:`_likes_yyc8e_82`,likers:`_likers_yyc8e_91`,choice:`_choice_yyc8e_103`},Q=f({title:`Note`,pictures:`Pictures`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,pictures:`图片`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function se({id:e}){let t=Q(),[{data:n,error:r},i]=h({query:L,variables:{id:e}}),[a,o]=(0,F.useState)(!1);if(a)return null;if(n?.note===null||r&&m(r)===`BAD_USER_INPUT`)return(0,G.jsx)(ne,{});if(!n?.note)return(0,G.jsx)(d,{title:t.title,up:`/`,children:r?(0,G.jsx)(C,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,G.jsx)(x,{shape:`card`})});let{note:s}=n;return(0,G.jsx)(d,{title:s.title,up:`/`,action:(0,G.jsx)(pe,{note:s,onGone:o}),children:(0,G.jsxs)(`div`,{className:s.images.length>0?Z.columns:Z.column,"data-note":s.id,children:[s.images.length>0&&(0,G.jsx)(`div`,{className:Z.pictures,children:(0,G.jsx)(re,{label:t.pictures,images:s.images,ratio:$(s.images),whole:!0})}),(0,G.jsxs)(`div`,{className:Z.text,children:[(0,G.jsx)(ue,{note:s}),(0,G.jsx)(`p`,{className:Z.content,dir:`auto`,children:s.content}),(0,G.jsx)(de,{shop:s.shop}),(0,G.jsx)(fe,{note:s}),(0,G.jsx)(ae,{noteId:s.id,count:s.commentCount})]})]})})}var ce=3/4,le=16/9;function $([e]){let t=e?.width&&e.height?e.width/e.height:4/3;return Math.min(Math.max(t,ce),le)}function ue({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=y();return(0,G.jsxs)(`div`,{className:Z.author,children:[(0,G.jsx)(T,{user:e,size:44}),(0,G.jsxs)(`p`,{children:[(0,G.jsx)(o,{href:`/users/${e.id}`,className:Z.name,dir:`auto`,children:e.nickname}),(0,G.jsxs)(`span`,{className:Z.facts,children:[(0,G.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,G.jsx)(`span`,{dir:`auto`,children:e.city})]})]}),(0,G.jsx)(te,{user:e,small:!0})]})}function de({shop:e}){let t=Q(),n=S();return(0,G.jsxs)(`section`,{className:Z.shop,"aria-labelledby":`shop`,children:[(0,G.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,G.jsx)(`div`,{className:Z.sign,children:(0,G.jsx)(g,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,G.jsxs)(`div`,{children:[(0,G.jsx)(`h3`,{dir:`auto`,children:(0,G.jsx)(o,{href:`/shops/${e.id}`,className:Z.link,children:e.name})}),(0,G.jsxs)(`p`,{className:Z.facts,children:[(0,G.jsx)(D,{value:e.score}),(0,G.jsx)(`span`,{dir:`auto`,children:n(e.type.name)}),e.area!==null&&(0,G.jsx)(`span`,{dir:`auto`,children:e.area})]})]})]})}function fe({note:e}){let t=Q();return(0,G.jsxs)(`div`,{className:Z.likes,children:[(0,G.jsx)(A,{note:e}),e.firstLikers.length>0&&(0,G.jsx)(`ul`,{className:Z.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,G.jsx)(`li`,{children:(0,G.jsx)(o,{href:`/users/${e.id}`,"aria-label":e.nickname,title:i(e.nickname),children:(0,G.jsx)(T,{user:e,size:32})})},e.id))})]})}function pe({note:e,onGone:n}){let r=Q(),i=M(),[,o]=a(),[s,c]=(0,F.useState)(!1),[d,f]=E(W),[{data:p}]=h({query:R,variables:{},requestPolicy:`cache-first`,pause:i===null,catchUp:!1});return i===null||i.userId!==e.author.id&&p?.me?.role!==`ADMIN`?null:(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(l,{label:r.remove,onClick:()=>c(!0),children:(0,G.jsx)(t,{"aria-hidden":`true`,size:20})}),s&&(0,G.jsxs)(j,{title:r.sure,onClose:()=>c(!1),children:[(0,G.jsx)(`p`,{children:r.gone}),(0,G.jsxs)(`div`,{className:Z.choice,children:[(0,G.jsx)(u,{kind:`quiet`,onClick:()=>c(!1),children:r.no}),(0,G.jsx)(u,{busy:f,onClick:async()=>{(await d({id:e.id})).ok&&(n(!0),ie(r.deleted),o(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{se as Note};