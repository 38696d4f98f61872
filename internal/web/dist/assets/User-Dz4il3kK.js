import{C as e,M as t,R as n,_ as r,g as i,h as a,j as o,u as s}from"./app-C5XjqgC4.js";import{_ as c,c as l,t as u,u as d}from"./Screen-DN1Y-HZ_.js";import{t as f}from"./errors-DzDCqRf4.js";import{t as p}from"./useAsk-ChgyYjXc.js";import{t as m}from"./FollowButton-BlnjwYKM.js";import{Lost as h}from"./Lost-Cwg82_Ht.js";import{a as g}from"./session-ScJtDdtY.js";import{t as _}from"./document-bm9CNBvx.js";import{n as v}from"./preload-helper-Chrg9qMa.js";var y=_(`7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3`,`query User($id: ID!) {
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
}`),x={columns:`_columns_1km5p_1`,person:`_person_1km5p_7`,top:`_top_1km5p_16`,facts:`_facts_1km5p_22`,level:`_level_1km5p_32`,city:`_city_1km5p_41`,bio:`_bio_1km5p_47`,counts:`_counts_1km5p_51`,count:`_count_1km5p_51`,common:`_common_1km5p_80`,faces:`_faces_1km5p_89`,notes:`_notes_1km5p_104`,list:`_list_1km5p_105`},S=v(),C=d({title:`Profile`,level:e=>`Level ${e}`,notes:`Notes`,followers:`Followers`,followees:`Following`,edit:`Edit profile`,common:`You both follow`,others:`and others`,and:`and`,comma:`, `,none:`No notes yet.`,write:`Write the first`},{title:`个人主页`,level:e=>`等级 ${e}`,notes:`笔记`,followers:`粉丝`,followees:`关注`,edit:`编辑资料`,common:`你们都关注了`,others:`等人`,and:`和`,comma:`、`,none:`还没有笔记。`,write:`写第一篇`});function w({id:t}){let n=C(),o=g(),[{data:c,error:d},m]=p({query:y,variables:{id:t}});if(c?.user===null||d&&f(d)===`BAD_USER_INPUT`)return(0,S.jsx)(h,{});if(!c?.user)return(0,S.jsx)(u,{title:n.title,up:`/`,children:d?(0,S.jsx)(i,{error:d,again:()=>m({requestPolicy:`network-only`})}):(0,S.jsx)(r,{shape:`row`,count:2})});let _=o?.userId===t;return(0,S.jsx)(u,{title:c.user.nickname,up:`/`,children:(0,S.jsxs)(`div`,{className:x.columns,children:[(0,S.jsx)(T,{user:c.user,mine:_}),(0,S.jsxs)(`section`,{className:x.notes,"aria-labelledby":`notes`,children:[(0,S.jsx)(`h2`,{id:`notes`,children:n.notes}),(0,S.jsx)(s,{name:`notes`,document:b,variables:{id:t},connection:({user:e})=>e?.notes,className:x.list,loading:(0,S.jsx)(r,{shape:`card`,count:2}),empty:(0,S.jsx)(a,{title:n.none,children:_&&(0,S.jsx)(l,{href:`/publish`,children:n.write})}),end:!0,children:({node:t},n)=>(0,S.jsx)(e,{note:t,eager:n===0})})]})]})})}function T({user:e,mine:r}){let i=C(),{number:a}=t(),s=`/users/${e.id}`;return(0,S.jsxs)(`div`,{className:x.person,children:[(0,S.jsxs)(`div`,{className:x.top,children:[(0,S.jsx)(o,{user:e,size:80}),(0,S.jsxs)(`p`,{className:x.facts,children:[(0,S.jsx)(`span`,{className:x.level,children:i.level(e.level)}),e.city!==null&&(0,S.jsxs)(`span`,{className:x.city,children:[(0,S.jsx)(n,{"aria-hidden":`true`,size:16}),` `,e.city]})]}),r?(0,S.jsx)(l,{kind:`quiet`,small:!0,href:`/me/edit`,children:i.edit}):(0,S.jsx)(m,{user:e})]}),e.bio!==null&&(0,S.jsx)(`p`,{className:x.bio,children:e.bio}),(0,S.jsxs)(`ul`,{className:x.counts,children:[(0,S.jsxs)(`li`,{className:x.count,children:[(0,S.jsx)(`strong`,{children:a(e.noteCount)}),` `,i.notes]}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(c,{href:`${s}/followers`,className:x.count,children:[(0,S.jsx)(`strong`,{children:a(e.followerCount)}),` `,i.followers]})}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(c,{href:`${s}/followees`,className:x.count,children:[(0,S.jsx)(`strong`,{children:a(e.followeeCount)}),` `,i.followees]})})]}),!r&&(0,S.jsx)(E,{user:e})]})}function E({user:{id:e,commonFollowees:t}}){let n=C(),r=t.edges.map(({node:e})=>e);if(r.length===0)return null;let i=r.map(({nickname:e})=>e),a=t.pageInfo.hasNextPage,s=a||i.length<2?``:` ${n.and} ${i.pop()??``}`;return(0,S.jsxs)(c,{href:`/users/${e}/common`,className:x.common,children:[(0,S.jsx)(`span`,{className:x.faces,children:r.map(e=>(0,S.jsx)(`span`,{children:(0,S.jsx)(o,{user:e,size:28})},e.id))}),(0,S.jsxs)(`span`,{children:[n.common,` `,i.join(n.comma),a?` ${n.others}`:s]})]})}export{w as User};