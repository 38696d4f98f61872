import{A as e,L as t,h as n,j as r,k as i,l as a,m as o,p as s,x as c}from"./app-C_ToAT57.js";import{l,m as u,s as d,t as f}from"./Screen-DdURs_yY.js";import{t as p}from"./errors-C_u5kzCD.js";import{t as m}from"./FollowButton-CfwuXMXm.js";import{Lost as h}from"./Lost-DM6ZxyMe.js";import{a as g}from"./session-zqIz0r0r.js";import{t as _}from"./document-bm9CNBvx.js";import{n as v}from"./preload-helper-Chrg9qMa.js";var y=_(`7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3`,`query User($id: ID!) {
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
}`),x={columns:`_columns_1km5p_1`,person:`_person_1km5p_7`,top:`_top_1km5p_16`,facts:`_facts_1km5p_22`,level:`_level_1km5p_32`,city:`_city_1km5p_41`,bio:`_bio_1km5p_47`,counts:`_counts_1km5p_51`,count:`_count_1km5p_51`,common:`_common_1km5p_80`,faces:`_faces_1km5p_89`,notes:`_notes_1km5p_104`,list:`_list_1km5p_105`},S=v(),C=l({title:`Profile`,level:e=>`Level ${e}`,notes:`Notes`,followers:`Followers`,followees:`Following`,edit:`Edit profile`,common:`You both follow`,others:`and others`,and:`and`,comma:`, `,none:`No notes yet.`,write:`Write the first`},{title:`个人主页`,level:e=>`等级 ${e}`,notes:`笔记`,followers:`粉丝`,followees:`关注`,edit:`编辑资料`,common:`你们都关注了`,others:`等人`,and:`和`,comma:`、`,none:`还没有笔记。`,write:`写第一篇`});function w({id:e}){let t=C(),i=g(),[{data:l,error:u},m]=r({query:y,variables:{id:e}});if(l?.user===null||u&&p(u)===`BAD_USER_INPUT`)return(0,S.jsx)(h,{});if(!l?.user)return(0,S.jsx)(f,{title:t.title,up:`/`,children:u?(0,S.jsx)(o,{error:u,again:()=>m({requestPolicy:`network-only`})}):(0,S.jsx)(n,{shape:`row`,count:2})});let _=i?.userId===e;return(0,S.jsx)(f,{title:l.user.nickname,up:`/`,children:(0,S.jsxs)(`div`,{className:x.columns,children:[(0,S.jsx)(T,{user:l.user,mine:_}),(0,S.jsxs)(`section`,{className:x.notes,"aria-labelledby":`notes`,children:[(0,S.jsx)(`h2`,{id:`notes`,children:t.notes}),(0,S.jsx)(a,{name:`notes`,document:b,variables:{id:e},connection:({user:e})=>e?.notes,className:x.list,loading:(0,S.jsx)(n,{shape:`card`,count:2}),empty:(0,S.jsx)(s,{title:t.none,children:_&&(0,S.jsx)(d,{href:`/publish`,children:t.write})}),end:!0,children:({node:e},t)=>(0,S.jsx)(c,{note:e,eager:t===0})})]})]})})}function T({user:n,mine:r}){let a=C(),{number:o}=e(),s=`/users/${n.id}`;return(0,S.jsxs)(`div`,{className:x.person,children:[(0,S.jsxs)(`div`,{className:x.top,children:[(0,S.jsx)(i,{user:n,size:80}),(0,S.jsxs)(`p`,{className:x.facts,children:[(0,S.jsx)(`span`,{className:x.level,children:a.level(n.level)}),n.city!==null&&(0,S.jsxs)(`span`,{className:x.city,children:[(0,S.jsx)(t,{"aria-hidden":`true`,size:16}),` `,n.city]})]}),r?(0,S.jsx)(d,{kind:`quiet`,small:!0,href:`/me/edit`,children:a.edit}):(0,S.jsx)(m,{user:n})]}),n.bio!==null&&(0,S.jsx)(`p`,{className:x.bio,children:n.bio}),(0,S.jsxs)(`ul`,{className:x.counts,children:[(0,S.jsxs)(`li`,{className:x.count,children:[(0,S.jsx)(`strong`,{children:o(n.noteCount)}),` `,a.notes]}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(u,{href:`${s}/followers`,className:x.count,children:[(0,S.jsx)(`strong`,{children:o(n.followerCount)}),` `,a.followers]})}),(0,S.jsx)(`li`,{children:(0,S.jsxs)(u,{href:`${s}/followees`,className:x.count,children:[(0,S.jsx)(`strong`,{children:o(n.followeeCount)}),` `,a.followees]})})]}),!r&&(0,S.jsx)(E,{user:n})]})}function E({user:{id:e,commonFollowees:t}}){let n=C(),r=t.edges.map(({node:e})=>e);if(r.length===0)return null;let a=r.map(({nickname:e})=>e),o=t.pageInfo.hasNextPage,s=o||a.length<2?``:` ${n.and} ${a.pop()??``}`;return(0,S.jsxs)(u,{href:`/users/${e}/common`,className:x.common,children:[(0,S.jsx)(`span`,{className:x.faces,children:r.map(e=>(0,S.jsx)(`span`,{children:(0,S.jsx)(i,{user:e,size:28})},e.id))}),(0,S.jsxs)(`span`,{children:[n.common,` `,a.join(n.comma),o?` ${n.others}`:s]})]})}export{w as User};