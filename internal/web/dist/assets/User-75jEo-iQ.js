import{f as e,v as t,y as n}from"./app-BGlO7Pxs.js";import{a as r,d as i,r as a,t as o}from"./Screen-C350eDAS.js";import{t as s}from"./errors-DcrNRUMo.js";import{a as c,o as l,s as u,t as d}from"./Pages-BpLLZcZH.js";import{t as f}from"./FollowButton-BluOL3un.js";import{Lost as p}from"./Lost-C5skASWc.js";import{c as m}from"./useDo-D_uEaS7W.js";import{n as h,t as g}from"./State-D8b8ZBCb.js";import{t as _}from"./document-BthJQ_51.js";import{n as v}from"./preload-helper-Chrg9qMa.js";var y=_(`7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3`,`query User($id: ID!) {
  user(id: $id) {
    id
    nickname
    avatarUrl
    level
    bio
    city
    noteCount
    followerCount
    followeeCount
    isFollowed
    commonFollowees(first: 3) {
      edges {
        node {
          id
          nickname
          avatarUrl
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
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),b=_(`ffb1c60d28bc22ed665f3f5654934365a0c7de27392144ccdcb91a0c9ee896e8`,`query UserNotes($id: ID!, $after: Cursor) {
  user(id: $id) {
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
}`),x={columns:`_columns_1slhp_1`,person:`_person_1slhp_6`,top:`_top_1slhp_15`,facts:`_facts_1slhp_21`,level:`_level_1slhp_31`,city:`_city_1slhp_40`,bio:`_bio_1slhp_46`,counts:`_counts_1slhp_50`,count:`_count_1slhp_50`,common:`_common_1slhp_79`,faces:`_faces_1slhp_88`,notes:`_notes_1slhp_103`,list:`_list_1slhp_104`},S=v(),C=r({title:`Profile`,level:e=>`Level ${e}`,notes:`Notes`,followers:`Followers`,followees:`Following`,edit:`Edit profile`,common:`You both follow`,others:`and others`,and:`and`,comma:`, `,none:`No notes yet.`,write:`Write the first`},{title:`个人主页`,level:e=>`等级 ${e}`,notes:`笔记`,followers:`粉丝`,followees:`关注`,edit:`编辑资料`,common:`你们都关注了`,others:`等人`,and:`和`,comma:`、`,none:`还没有笔记。`,write:`写第一篇`});function w({id:t}){let n=C(),r=m(),[{data:i,error:l},f]=u({query:y,variables:{id:t}});if(i?.user===null||l&&s(l)===`BAD_USER_INPUT`)return(0,S.jsx)(p,{});if(!i?.user)return(0,S.jsx)(o,{title:n.title,up:`/`,children:l?(0,S.jsx)(h,{error:l,again:()=>f({requestPolicy:`network-only`})}):(0,S.jsx)(c,{shape:`row`,count:2})});let _=r?.userId===t;return(0,S.jsx)(o,{title:i.user.nickname,up:`/`,children:(0,S.jsxs)(`div`,{className:x.columns,children:[(0,S.jsx)(T,{user:i.user,mine:_}),(0,S.jsxs)(`section`,{className:x.notes,"aria-labelledby":`notes`,children:[(0,S.jsx)(`h2`,{id:`notes`,children:n.notes}),(0,S.jsx)(d,{name:`notes`,document:b,variables:{id:t},connection:({user:e})=>e?.notes,className:x.list,loading:(0,S.jsx)(c,{shape:`card`,count:2}),empty:(0,S.jsx)(g,{title:n.none,children:_&&(0,S.jsx)(a,{href:`/publish`,children:n.write})}),end:!0,children:({node:t},n)=>(0,S.jsx)(e,{note:t,eager:n===0})})]})]})})}function T({user:e,mine:r}){let o=C(),{number:s}=l(),c=`/users/${e.id}`;return(0,S.jsxs)(`div`,{className:x.person,children:[(0,S.jsxs)(`div`,{className:x.top,children:[(0,S.jsx)(t,{user:e,size:80}),(0,S.jsxs)(`p`,{className:x.facts,children:[(0,S.jsx)(`span`,{className:x.level,children:o.level(e.level)}),e.city!==null&&(0,S.jsxs)(`span`,{className:x.city,children:[(0,S.jsx)(n,{"aria-hidden":`true`,size:16}),` `,e.city]})]}),r?(0,S.jsx)(a,{kind:`quiet`,small:!0,href:`/me/edit`,children:o.edit}):(0,S.jsx)(f,{user:e})]}),e.bio!==null&&(0,S.jsx)(`p`,{className:x.bio,children:e.bio}),(0,S.jsxs)(`ul`,{className:x.counts,children:[(0,S.jsxs)(`li`,{className:x.count,children:[(0,S.jsx)(`strong`,{children:s(e.noteCount)}),` `,o.notes]}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(i,{href:`${c}/followers`,className:x.count,children:[(0,S.jsx)(`strong`,{children:s(e.followerCount)}),` `,o.followers]})}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(i,{href:`${c}/followees`,className:x.count,children:[(0,S.jsx)(`strong`,{children:s(e.followeeCount)}),` `,o.followees]})})]}),!r&&(0,S.jsx)(E,{user:e})]})}function E({user:{id:e,commonFollowees:n}}){let r=C(),a=n.edges.map(({node:e})=>e);if(a.length===0)return null;let o=a.map(({nickname:e})=>e),s=n.pageInfo.hasNextPage,c=s||o.length<2?``:` ${r.and} ${o.pop()??``}`;return(0,S.jsxs)(i,{href:`/users/${e}/common`,className:x.common,children:[(0,S.jsx)(`span`,{className:x.faces,children:a.map(e=>(0,S.jsx)(`span`,{children:(0,S.jsx)(t,{user:e,size:28})},e.id))}),(0,S.jsxs)(`span`,{children:[r.common,` `,o.join(r.comma),s?` ${r.others}`:c]})]})}export{w as User};