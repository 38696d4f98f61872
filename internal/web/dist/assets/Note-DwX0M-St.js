import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,c as n,h as r,i,l as a,n as o,r as s,t as c,u as l}from"./Screen-BMFk-Lya.js";import{a as u,n as d}from"./preload-helper-Chrg9qMa.js";import{r as f,t as p}from"./errors-BBJ-6boX.js";import{t as m}from"./useAsk-CKZnNJl_.js";import{c as h,i as g,n as _,t as ee}from"./useDo-CPYHaSsr.js";import{C as v,T as y,a as b,b as x,c as S,d as C,f as w,g as T,l as E,o as D,p as O,u as te,w as k,x as ne,y as A}from"./app-v2KCKU2x.js";import{t as j}from"./FollowButton-BeNt3DuE.js";import{Lost as re}from"./Lost-CCcbtmY_.js";import{t as M}from"./document-bm9CNBvx.js";var N={name:`chevron-right`,size:24,node:[[`path`,{d:`m9 18 6-6-6-6`,key:`mthhwq`}]]};N.node;var P=a(N),F={name:`trash`,size:24,node:[[`path`,{d:`M10 11v6`,key:`nco0om`}],[`path`,{d:`M14 11v6`,key:`outv1u`}],[`path`,{d:`M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6`,key:`miytrc`}],[`path`,{d:`M3 6h18`,key:`d0wm0j`}],[`path`,{d:`M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2`,key:`e791ji`}]],aliases:[`trash-2`]};F.node;var ie=a(F),I=e(u(),1),L={section:`_section_1g1h2_1`,list:`_list_1g1h2_7`,comment:`_comment_1g1h2_13`,body:`_body_1g1h2_18`,head:`_head_1g1h2_23`,name:`_name_1g1h2_36`,content:`_content_1g1h2_41`,acts:`_acts_1g1h2_45`,replies:`_replies_1g1h2_52`,more:`_more_1g1h2_61`,composer:`_composer_1g1h2_65`,send:`_send_1g1h2_70`},R=M(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),z=M(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),B=M(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),V=M(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),H=M(`852eb5ebccd971f130f797912592445a2f21d71e41220967f4033919ad8d03c3`,`mutation AddComment($input: AddCommentInput!) {
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
}`),U=M(`0da07ddff6e9059cd6fb9739987377cee9f6febef4b49a4ba0a6149aba9e3c2e`,`mutation LikeComment($id: ID!) {
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
}`),W=M(`bf70852907243bcb35e3ea3ddf21bc6c204fe80efe6101f0119455adb5bd49ca`,`mutation UnlikeComment($id: ID!) {
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
}`),G=M(`65fffd7da3cdeeaff19ccc715b97aa5da7374b78aa6eb3647ce24d0fe6ffe979`,`mutation DeleteNote($id: ID!) {
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
}`),K=d(),q=t({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),J=500,ae=2;function oe({noteId:e,count:t}){let n=q(),{number:r}=y();return(0,K.jsxs)(`section`,{className:L.section,"aria-labelledby":`comments`,children:[(0,K.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,K.jsx)(X,{noteId:e,label:n.add}),(0,K.jsx)(b,{name:`comments`,document:B,variables:{noteId:e},connection:({note:e})=>e?.comments,className:L.list,loading:(0,K.jsx)(w,{shape:`text`,count:2}),empty:(0,K.jsx)(te,{title:n.none}),children:({node:t})=>(0,K.jsx)(se,{noteId:e,thread:t})})]})}function se({noteId:e,thread:t}){let n=q(),{number:r}=y(),[i,a]=D(`replies:${t.id}`,!1),s=n=>(0,K.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>a(!0)}),c=t.replies.edges.length>0&&(0,K.jsx)(`ul`,{className:L.replies,children:t.replies.edges.map(({node:e})=>(0,K.jsx)(`li`,{children:s(e)},e.id))});return(0,K.jsxs)(K.Fragment,{children:[(0,K.jsx)(Y,{noteId:e,comment:t,onAnswered:()=>a(!0)}),i&&t.replyCount>ae?(0,K.jsx)(b,{name:`replies-of:${t.id}`,document:V,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:L.replies,loading:c||(0,K.jsx)(w,{shape:`text`}),empty:null,children:({node:e})=>s(e)}):(0,K.jsxs)(K.Fragment,{children:[c,t.replyCount>t.replies.edges.length&&(0,K.jsx)(`div`,{className:L.more,children:(0,K.jsx)(o,{kind:`plain`,small:!0,onClick:()=>a(!0),children:n.all(r(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onAnswered:r}){let i=q(),{ago:a}=y(),s=h(),[c,u]=(0,I.useState)(!1),d=(0,I.useRef)(null),[f]=_(U),[p]=_(W),{author:m}=t,g=()=>{u(!1),d.current?.querySelector(`button`)?.focus()};return(0,K.jsxs)(`article`,{className:L.comment,"data-comment":t.id,children:[(0,K.jsx)(k,{user:m,size:36}),(0,K.jsxs)(`div`,{className:L.body,children:[(0,K.jsxs)(`p`,{className:L.head,children:[(0,K.jsx)(l,{href:`/users/${m.id}`,className:L.name,children:m.nickname}),n!==null&&(0,K.jsxs)(`span`,{children:[i.to,` `,(0,K.jsx)(l,{href:`/users/${n.id}`,className:L.name,children:n.nickname})]}),(0,K.jsx)(`time`,{dateTime:t.createdAt,children:a(t.createdAt)})]}),(0,K.jsx)(`p`,{className:L.content,children:t.content}),(0,K.jsxs)(`div`,{className:L.acts,children:[(0,K.jsx)(x,{label:i.like(m.nickname),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?p:f)({id:t.id})}),s!==null&&(0,K.jsx)(`span`,{ref:d,children:(0,K.jsx)(o,{kind:`plain`,small:!0,"aria-expanded":c,"aria-label":i.replyTo(m.nickname),onClick:()=>c?g():u(!0),children:i.reply})})]}),c&&(0,K.jsx)(X,{noteId:e,parentId:t.id,label:i.replyTo(m.nickname),onCancel:g,onSent:()=>{g(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:r,onSent:i}){let a=q(),{number:c}=y(),l=h(),u=f(),[d,p]=D(`comment:${t??``}`,``),[m,g]=(0,I.useState)(),[v,b]=_(H,{say:!1}),x=(0,I.useId)();if(l===null)return(0,K.jsx)(s,{kind:`quiet`,href:ne(),children:a.signIn});let S=d.trim(),C=J-[...S].length;return(0,K.jsxs)(`form`,{className:L.composer,id:x,onSubmit:async n=>{if(n.preventDefault(),b||S===``||C<0)return;g(void 0);let r=await v({input:{noteId:e,content:S,parentId:t??null}});if(r.ok){p(``),i?.();return}let o=ee(r.refusals,`content`)??r.refusals[0];o?g(u(o)):r.error?.networkError&&navigator.onLine&&g(a.doubt)},children:[(0,K.jsx)(O,{label:n,error:C<0?a.left(c(C)):m,...C<100&&C>=0?{hint:a.left(c(C))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:d,onChange:e=>p(e.target.value)}),(S!==``||r)&&(0,K.jsxs)(`div`,{className:L.send,children:[r&&(0,K.jsx)(o,{kind:`quiet`,small:!0,onClick:r,children:a.cancel}),(0,K.jsx)(o,{type:`submit`,small:!0,busy:b,disabled:S===``||C<0,children:a.send})]})]})}var Z={gallery:`_gallery_1eyjw_1`,pictures:`_pictures_1eyjw_7`,steps:`_steps_1eyjw_30`,dots:`_dots_1eyjw_43`},ce=t({pictures:`Pictures`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:`图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`}),le=3/4,ue=16/9;function de({images:e}){let t=ce(),r=(0,I.useRef)(null),[a,o]=(0,I.useState)(0),[s]=e,c=s?.width&&s.height?s.width/s.height:4/3,l=e=>r.current?.scrollTo({left:e*r.current.clientWidth,behavior:`smooth`});return(0,K.jsxs)(`section`,{className:Z.gallery,"aria-label":t.pictures,children:[(0,K.jsx)(`ul`,{ref:r,className:Z.pictures,style:{aspectRatio:Math.min(Math.max(c,le),ue)},tabIndex:e.length>1?0:void 0,"aria-label":t.pictures,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>o(Math.round(e/Math.max(t,1))),children:e.map(({url:n,width:r,height:i},a)=>(0,K.jsx)(`li`,{children:(0,K.jsx)(`img`,{src:n,alt:t.picture(a+1,e.length),...r!==null&&i!==null?{width:r,height:i}:{},loading:a===0?`eager`:`lazy`,decoding:`async`})},n))}),e.length>1&&(0,K.jsxs)(`div`,{className:Z.steps,children:[(0,K.jsx)(i,{label:t.before,disabled:a===0,onClick:()=>l(a-1),children:(0,K.jsx)(n,{"aria-hidden":`true`})}),(0,K.jsx)(`span`,{className:Z.dots,"aria-hidden":`true`,children:e.map(({url:e},t)=>(0,K.jsx)(`span`,{"data-shown":t===a||void 0},e))}),(0,K.jsx)(`span`,{className:`unseen`,role:`status`,children:t.picture(a+1,e.length)}),(0,K.jsx)(i,{label:t.next,disabled:a===e.length-1,onClick:()=>l(a+1),children:(0,K.jsx)(P,{"aria-hidden":`true`})})]})]})}var Q={columns:`_columns_90e4w_1`,column:`_column_90e4w_1`,text:`_text_90e4w_12`,author:`_author_90e4w_20`,name:`_name_90e4w_32`,facts:`_facts_90e4w_37`,content:`_content_90e4w_45`,shop:`_shop_90e4w_51`,sign:`_sign_90e4w_63`,link:`_link_90e4w_67`,likes:`_likes_90e4w_78`,likers:`_likers_90e4w_87`,choice:`_choice_90e4w_99`},$=t({title:`Note`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function fe({id:e}){let t=$(),[{data:n,error:r},i]=m({query:R,variables:{id:e}}),[a,o]=(0,I.useState)(!1);if(a)return null;if(n?.note===null||r&&p(r)===`BAD_USER_INPUT`)return(0,K.jsx)(re,{});if(!n?.note)return(0,K.jsx)(c,{title:t.title,up:`/`,children:r?(0,K.jsx)(C,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,K.jsx)(w,{shape:`card`})});let{note:s}=n;return(0,K.jsx)(c,{title:s.title,up:`/`,action:(0,K.jsx)(ge,{note:s,onGone:o}),children:(0,K.jsxs)(`div`,{className:s.images.length>0?Q.columns:Q.column,"data-note":s.id,children:[s.images.length>0&&(0,K.jsx)(de,{images:s.images}),(0,K.jsxs)(`div`,{className:Q.text,children:[(0,K.jsx)(pe,{note:s}),(0,K.jsx)(`p`,{className:Q.content,children:s.content}),(0,K.jsx)(me,{shop:s.shop}),(0,K.jsx)(he,{note:s}),(0,K.jsx)(oe,{noteId:s.id,count:s.commentCount})]})]})})}function pe({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=y();return(0,K.jsxs)(`div`,{className:Q.author,children:[(0,K.jsx)(k,{user:e,size:44}),(0,K.jsxs)(`p`,{children:[(0,K.jsx)(l,{href:`/users/${e.id}`,className:Q.name,children:e.nickname}),(0,K.jsxs)(`span`,{className:Q.facts,children:[(0,K.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,K.jsx)(`span`,{children:e.city})]})]}),(0,K.jsx)(j,{user:e,small:!0})]})}function me({shop:e}){let t=$(),n=S();return(0,K.jsxs)(`section`,{className:Q.shop,"aria-labelledby":`shop`,children:[(0,K.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,K.jsx)(`div`,{className:Q.sign,children:(0,K.jsx)(v,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,K.jsxs)(`div`,{children:[(0,K.jsx)(`h3`,{children:(0,K.jsx)(l,{href:`/shops/${e.id}`,className:Q.link,children:e.name})}),(0,K.jsxs)(`p`,{className:Q.facts,children:[(0,K.jsx)(E,{value:e.score}),(0,K.jsx)(`span`,{children:n(e.type.name)}),e.area!==null&&(0,K.jsx)(`span`,{children:e.area})]})]})]})}function he({note:e}){let t=$();return(0,K.jsxs)(`div`,{className:Q.likes,children:[(0,K.jsx)(A,{note:e}),e.firstLikers.length>0&&(0,K.jsx)(`ul`,{className:Q.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,K.jsx)(`li`,{children:(0,K.jsx)(l,{href:`/users/${e.id}`,"aria-label":e.nickname,title:e.nickname,children:(0,K.jsx)(k,{user:e,size:32})})},e.id))})]})}function ge({note:e,onGone:t}){let n=$(),a=h(),[,s]=r(),[c,l]=(0,I.useState)(!1),[u,d]=_(G),[{data:f}]=m({query:z,variables:{},requestPolicy:`cache-first`,pause:a===null,catchUp:!1});return a===null||a.userId!==e.author.id&&f?.me?.role!==`ADMIN`?null:(0,K.jsxs)(K.Fragment,{children:[(0,K.jsx)(i,{label:n.remove,onClick:()=>l(!0),children:(0,K.jsx)(ie,{"aria-hidden":`true`,size:20})}),c&&(0,K.jsxs)(T,{title:n.sure,onClose:()=>l(!1),children:[(0,K.jsx)(`p`,{children:n.gone}),(0,K.jsxs)(`div`,{className:Q.choice,children:[(0,K.jsx)(o,{kind:`quiet`,onClick:()=>l(!1),children:n.no}),(0,K.jsx)(o,{busy:d,onClick:async()=>{(await u({id:e.id})).ok&&(t(!0),g(n.deleted),s(`/users/${e.author.id}`,{replace:!0}))},children:n.yes})]})]})]})}export{fe as Note};