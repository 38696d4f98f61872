import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{c as t,f as n,i as r,l as i,m as a,o,p as s,s as c,t as l,y as u}from"./Screen-DdURs_yY.js";import{a as d,n as f}from"./preload-helper-Chrg9qMa.js";import{r as p,t as m}from"./errors-C_u5kzCD.js";import{A as h,C as g,D as _,E as v,O as y,S as b,d as x,f as S,g as ee,h as C,j as w,k as T,l as E,m as te,p as ne,w as re,y as ie}from"./app-QeCKXO9f.js";import{t as D}from"./FollowButton-v0zL1X58.js";import{Lost as O}from"./Lost-Cs8NFKhm.js";import{i as k}from"./session-BMwnHRmX.js";import{n as A}from"./toast-ZrJXNZZ4.js";import{t as j}from"./document-bm9CNBvx.js";import{t as M}from"./chevron-right-DZaPbdrY.js";var N={name:`trash`,size:24,node:[[`path`,{d:`M10 11v6`,key:`nco0om`}],[`path`,{d:`M14 11v6`,key:`outv1u`}],[`path`,{d:`M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6`,key:`miytrc`}],[`path`,{d:`M3 6h18`,key:`d0wm0j`}],[`path`,{d:`M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2`,key:`e791ji`}]],aliases:[`trash-2`]};N.node;var P=s(N),F=e(d(),1),I={section:`_section_ooyxu_1`,list:`_list_ooyxu_6`,comment:`_comment_ooyxu_11`,body:`_body_ooyxu_16`,head:`_head_ooyxu_21`,name:`_name_ooyxu_34`,content:`_content_ooyxu_39`,acts:`_acts_ooyxu_43`,replies:`_replies_ooyxu_50`,more:`_more_ooyxu_58`,composer:`_composer_ooyxu_62`,send:`_send_ooyxu_67`},L=j(`5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877`,`query Note($id: ID!) {
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
}`),R=j(`a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56`,`query NoteViewer {
  me {
    id
    role
    __typename
  }
}`),z=j(`51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff`,`query Comments($noteId: ID!, $after: Cursor) {
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
}`),B=j(`530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730`,`query Replies($commentId: ID!, $after: Cursor) {
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
}`),V=j(`852eb5ebccd971f130f797912592445a2f21d71e41220967f4033919ad8d03c3`,`mutation AddComment($input: AddCommentInput!) {
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
}`),H=j(`0da07ddff6e9059cd6fb9739987377cee9f6febef4b49a4ba0a6149aba9e3c2e`,`mutation LikeComment($id: ID!) {
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
}`),U=j(`bf70852907243bcb35e3ea3ddf21bc6c204fe80efe6101f0119455adb5bd49ca`,`mutation UnlikeComment($id: ID!) {
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
}`),W=j(`65fffd7da3cdeeaff19ccc715b97aa5da7374b78aa6eb3647ce24d0fe6ffe979`,`mutation DeleteNote($id: ID!) {
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
}`),G=f(),K=i({comments:e=>`Comments (${e})`,add:`Add a comment`,replyTo:e=>`Reply to ${e}`,reply:`Reply`,send:`Send`,cancel:`Cancel`,signIn:`Sign in to comment`,none:`Nobody has said anything yet. Be the first.`,like:e=>`Like the comment of ${e}`,to:`to`,all:e=>`Show all ${e} replies`,left:e=>`${e} characters left`,doubt:`No answer came: it may be here already. Look before you send it again.`},{comments:e=>`评论（${e}）`,add:`写评论`,replyTo:e=>`回复 ${e}`,reply:`回复`,send:`发送`,cancel:`取消`,signIn:`登录后评论`,none:`还没有评论，来说点什么吧。`,like:e=>`点赞 ${e} 的评论`,to:`回复`,all:e=>`查看全部 ${e} 条回复`,left:e=>`还可输入 ${e} 字`,doubt:`没有收到回应，评论可能已发出。再次发送前请先查看。`}),q=500,J=2;function ae({noteId:e,count:t}){let n=K(),{number:r}=h();return(0,G.jsxs)(`section`,{className:I.section,"aria-labelledby":`comments`,children:[(0,G.jsx)(`h2`,{id:`comments`,children:n.comments(r(t))}),(0,G.jsx)(X,{noteId:e,label:n.add}),(0,G.jsx)(E,{name:`comments`,document:z,variables:{noteId:e},connection:({note:e})=>e?.comments,className:I.list,loading:(0,G.jsx)(C,{shape:`text`,count:2}),empty:(0,G.jsx)(ne,{title:n.none}),children:({node:t})=>(0,G.jsx)(oe,{noteId:e,thread:t})})]})}function oe({noteId:e,thread:t}){let n=K(),{number:i}=h(),[a,s]=r(`replies:${t.id}`,!1),c=n=>(0,G.jsx)(Y,{noteId:e,comment:n,to:n.parent!==null&&n.parent.id!==t.id?n.parent.author:null,onAnswered:()=>s(!0)}),l=t.replies.edges.length>0&&(0,G.jsx)(`ul`,{className:I.replies,children:t.replies.edges.map(({node:e})=>(0,G.jsx)(`li`,{children:c(e)},e.id))});return(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(Y,{noteId:e,comment:t,onAnswered:()=>s(!0)}),a&&t.replyCount>J?(0,G.jsx)(E,{name:`replies-of:${t.id}`,document:B,variables:{commentId:t.id},connection:({node:e})=>e&&`replies`in e?e.replies:null,className:I.replies,loading:l||(0,G.jsx)(C,{shape:`text`}),empty:null,children:({node:e})=>c(e)}):(0,G.jsxs)(G.Fragment,{children:[l,t.replyCount>t.replies.edges.length&&(0,G.jsx)(`div`,{className:I.more,children:(0,G.jsx)(o,{kind:`plain`,small:!0,onClick:()=>s(!0),children:n.all(i(t.replyCount))})})]})]})}function Y({noteId:e,comment:t,to:n=null,onAnswered:r}){let i=K(),{ago:s}=h(),c=k(),[l,u]=(0,F.useState)(!1),d=(0,F.useRef)(null),[f]=_(H),[p]=_(U),{author:m}=t,v=()=>{u(!1),d.current?.querySelector(`button`)?.focus()};return(0,G.jsxs)(`article`,{className:I.comment,"data-comment":t.id,children:[(0,G.jsx)(T,{user:m,size:36}),(0,G.jsxs)(`div`,{className:I.body,children:[(0,G.jsxs)(`p`,{className:I.head,children:[(0,G.jsx)(a,{href:`/users/${m.id}`,className:I.name,children:m.nickname}),n!==null&&(0,G.jsxs)(`span`,{children:[i.to,` `,(0,G.jsx)(a,{href:`/users/${n.id}`,className:I.name,children:n.nickname})]}),(0,G.jsx)(`time`,{dateTime:t.createdAt,children:s(t.createdAt)})]}),(0,G.jsx)(`p`,{className:I.content,children:t.content}),(0,G.jsxs)(`div`,{className:I.acts,children:[(0,G.jsx)(g,{label:i.like(m.nickname),liked:t.isLiked,count:t.likeCount,onToggle:()=>void(t.isLiked?p:f)({id:t.id})}),c!==null&&(0,G.jsx)(`span`,{ref:d,children:(0,G.jsx)(o,{kind:`plain`,small:!0,"aria-expanded":l,"aria-label":i.replyTo(m.nickname),onClick:()=>l?v():u(!0),children:i.reply})})]}),l&&(0,G.jsx)(X,{noteId:e,parentId:t.id,label:i.replyTo(m.nickname),onCancel:v,onSent:()=>{v(),r()}})]})]})}function X({noteId:e,parentId:t,label:n,onCancel:i,onSent:a}){let s=K(),{number:l}=h(),u=k(),d=p(),[f,m]=r(`comment:${t??``}`,``),[g,y]=(0,F.useState)(),[b,x]=_(V,{say:!1}),S=(0,F.useId)();if(u===null)return(0,G.jsx)(c,{kind:`quiet`,href:re(),children:s.signIn});let C=f.trim(),w=q-[...C].length;return(0,G.jsxs)(`form`,{className:I.composer,id:S,onSubmit:async n=>{if(n.preventDefault(),x||C===``||w<0)return;y(void 0);let r=await b({input:{noteId:e,content:C,parentId:t??null}});if(r.ok){m(``),a?.();return}let i=v(r.refusals,`content`)??r.refusals[0];i?y(d(i)):r.error?.networkError&&navigator.onLine&&y(s.doubt)},children:[(0,G.jsx)(ee,{label:n,error:w<0?s.left(l(w)):g,...w<100&&w>=0?{hint:s.left(l(w))}:{},rows:t===void 0?2:3,autoFocus:t!==void 0,value:f,onChange:e=>m(e.target.value)}),(C!==``||i)&&(0,G.jsxs)(`div`,{className:I.send,children:[i&&(0,G.jsx)(o,{kind:`quiet`,small:!0,onClick:i,children:s.cancel}),(0,G.jsx)(o,{type:`submit`,small:!0,busy:x,disabled:C===``||w<0,children:s.send})]})]})}var Z={gallery:`_gallery_1eyjw_1`,pictures:`_pictures_1eyjw_7`,steps:`_steps_1eyjw_30`,dots:`_dots_1eyjw_43`},se=i({pictures:`Pictures`,picture:(e,t)=>`Picture ${e} of ${t}`,before:`Picture before`,next:`Next picture`},{pictures:`图片`,picture:(e,t)=>`第 ${e} 张，共 ${t} 张`,before:`上一张`,next:`下一张`}),ce=3/4,le=16/9;function ue({images:e}){let r=se(),i=(0,F.useRef)(null),[a,o]=(0,F.useState)(0),[s]=e,c=s?.width&&s.height?s.width/s.height:4/3,l=e=>i.current?.scrollTo({left:e*i.current.clientWidth,behavior:`smooth`});return(0,G.jsxs)(`section`,{className:Z.gallery,"aria-label":r.pictures,children:[(0,G.jsx)(`ul`,{ref:i,className:Z.pictures,style:{aspectRatio:Math.min(Math.max(c,ce),le)},tabIndex:e.length>1?0:void 0,"aria-label":r.pictures,onScroll:({currentTarget:{scrollLeft:e,clientWidth:t}})=>o(Math.round(e/Math.max(t,1))),children:e.map(({url:t,width:n,height:i},a)=>(0,G.jsx)(`li`,{children:(0,G.jsx)(`img`,{src:t,alt:r.picture(a+1,e.length),...n!==null&&i!==null?{width:n,height:i}:{},loading:a===0?`eager`:`lazy`,decoding:`async`})},t))}),e.length>1&&(0,G.jsxs)(`div`,{className:Z.steps,children:[(0,G.jsx)(t,{label:r.before,disabled:a===0,onClick:()=>l(a-1),children:(0,G.jsx)(n,{"aria-hidden":`true`})}),(0,G.jsx)(`span`,{className:Z.dots,"aria-hidden":`true`,children:e.map(({url:e},t)=>(0,G.jsx)(`span`,{"data-shown":t===a||void 0},e))}),(0,G.jsx)(`span`,{className:`unseen`,role:`status`,children:r.picture(a+1,e.length)}),(0,G.jsx)(t,{label:r.next,disabled:a===e.length-1,onClick:()=>l(a+1),children:(0,G.jsx)(M,{"aria-hidden":`true`})})]})]})}var Q={columns:`_columns_67pbr_1`,column:`_column_67pbr_1`,text:`_text_67pbr_11`,author:`_author_67pbr_18`,name:`_name_67pbr_30`,facts:`_facts_67pbr_35`,content:`_content_67pbr_43`,shop:`_shop_67pbr_49`,sign:`_sign_67pbr_61`,link:`_link_67pbr_65`,likes:`_likes_67pbr_76`,likers:`_likers_67pbr_85`,choice:`_choice_67pbr_97`},$=i({title:`Note`,remove:`Delete this note`,sure:`Delete this note?`,gone:`Its comments go with it. This cannot be undone.`,yes:`Delete`,no:`Keep it`,deleted:`The note is deleted.`,shop:`About this shop`,liked:`Liked first by`},{title:`笔记`,remove:`删除笔记`,sure:`要删除这篇笔记吗？`,gone:`评论也会一并删除，且无法恢复。`,yes:`删除`,no:`保留`,deleted:`笔记已删除。`,shop:`相关店铺`,liked:`最早点赞`});function de({id:e}){let t=$(),[{data:n,error:r},i]=w({query:L,variables:{id:e}}),[a,o]=(0,F.useState)(!1);if(a)return null;if(n?.note===null||r&&m(r)===`BAD_USER_INPUT`)return(0,G.jsx)(O,{});if(!n?.note)return(0,G.jsx)(l,{title:t.title,up:`/`,children:r?(0,G.jsx)(te,{error:r,again:()=>i({requestPolicy:`network-only`})}):(0,G.jsx)(C,{shape:`card`})});let{note:s}=n;return(0,G.jsx)(l,{title:s.title,up:`/`,action:(0,G.jsx)(he,{note:s,onGone:o}),children:(0,G.jsxs)(`div`,{className:s.images.length>0?Q.columns:Q.column,"data-note":s.id,children:[s.images.length>0&&(0,G.jsx)(ue,{images:s.images}),(0,G.jsxs)(`div`,{className:Q.text,children:[(0,G.jsx)(fe,{note:s}),(0,G.jsx)(`p`,{className:Q.content,children:s.content}),(0,G.jsx)(pe,{shop:s.shop}),(0,G.jsx)(me,{note:s}),(0,G.jsx)(ae,{noteId:s.id,count:s.commentCount})]})]})})}function fe({note:{author:e,createdAt:t}}){let{ago:n,moment:r}=h();return(0,G.jsxs)(`div`,{className:Q.author,children:[(0,G.jsx)(T,{user:e,size:44}),(0,G.jsxs)(`p`,{children:[(0,G.jsx)(a,{href:`/users/${e.id}`,className:Q.name,children:e.nickname}),(0,G.jsxs)(`span`,{className:Q.facts,children:[(0,G.jsx)(`time`,{dateTime:t,title:r(t),children:n(t)}),e.city!==null&&(0,G.jsx)(`span`,{children:e.city})]})]}),(0,G.jsx)(D,{user:e,small:!0})]})}function pe({shop:e}){let t=$(),n=x();return(0,G.jsxs)(`section`,{className:Q.shop,"aria-labelledby":`shop`,children:[(0,G.jsx)(`h2`,{id:`shop`,className:`unseen`,children:t.shop}),(0,G.jsx)(`div`,{className:Q.sign,children:(0,G.jsx)(y,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1})}),(0,G.jsxs)(`div`,{children:[(0,G.jsx)(`h3`,{children:(0,G.jsx)(a,{href:`/shops/${e.id}`,className:Q.link,children:e.name})}),(0,G.jsxs)(`p`,{className:Q.facts,children:[(0,G.jsx)(S,{value:e.score}),(0,G.jsx)(`span`,{children:n(e.type.name)}),e.area!==null&&(0,G.jsx)(`span`,{children:e.area})]})]})]})}function me({note:e}){let t=$();return(0,G.jsxs)(`div`,{className:Q.likes,children:[(0,G.jsx)(b,{note:e}),e.firstLikers.length>0&&(0,G.jsx)(`ul`,{className:Q.likers,"aria-label":t.liked,children:e.firstLikers.map(e=>(0,G.jsx)(`li`,{children:(0,G.jsx)(a,{href:`/users/${e.id}`,"aria-label":e.nickname,title:e.nickname,children:(0,G.jsx)(T,{user:e,size:32})})},e.id))})]})}function he({note:e,onGone:n}){let r=$(),i=k(),[,a]=u(),[s,c]=(0,F.useState)(!1),[l,d]=_(W),[{data:f}]=w({query:R,variables:{},requestPolicy:`cache-first`,pause:i===null,catchUp:!1});return i===null||i.userId!==e.author.id&&f?.me?.role!==`ADMIN`?null:(0,G.jsxs)(G.Fragment,{children:[(0,G.jsx)(t,{label:r.remove,onClick:()=>c(!0),children:(0,G.jsx)(P,{"aria-hidden":`true`,size:20})}),s&&(0,G.jsxs)(ie,{title:r.sure,onClose:()=>c(!1),children:[(0,G.jsx)(`p`,{children:r.gone}),(0,G.jsxs)(`div`,{className:Q.choice,children:[(0,G.jsx)(o,{kind:`quiet`,onClick:()=>c(!1),children:r.no}),(0,G.jsx)(o,{busy:d,onClick:async()=>{(await l({id:e.id})).ok&&(n(!0),A(r.deleted),a(`/users/${e.author.id}`,{replace:!0}))},children:r.yes})]})]})]})}export{de as Note};