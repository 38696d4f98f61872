import{E as e,K as t,L as n,M as r,T as i,d as a,f as o,w as s}from"./app-B0ZPWHu3.js";import{i as c,n as l,u}from"./Button-BJNnZ8XN.js";import{t as d}from"./errors-CWz5aWUu.js";import{t as f}from"./useApiQuery-DhNs3sUT.js";import{t as p}from"./format-scrNEY_u.js";import{i as m,r as h}from"./preload-helper-DXbBgPnf.js";import{t as g}from"./FollowButton-BV7QSXwy.js";import{NotFound as _}from"./NotFound-D72cODaU.js";import{a as v}from"./session-JQV9-zIN.js";import{t as y}from"./document-D_a4HVPm.js";var b=y(`7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3`,`query User($id: ID!) {
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
}`),x=y(`887279f6d749ecede9bbdad2072759ac6d96a4d3079073ffb15bcf3f557d0d24`,`query UserNotes($id: ID!, $after: Cursor) {
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
  isSaved
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
  authorRating {
    stars
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),S={columns:`_columns_1km5p_1`,person:`_person_1km5p_7`,top:`_top_1km5p_16`,facts:`_facts_1km5p_22`,level:`_level_1km5p_32`,city:`_city_1km5p_41`,bio:`_bio_1km5p_47`,counts:`_counts_1km5p_51`,count:`_count_1km5p_51`,common:`_common_1km5p_80`,faces:`_faces_1km5p_89`,notes:`_notes_1km5p_104`,list:`_list_1km5p_105`},C=m(),w=c({title:`Profile`,level:e=>`Level ${e}`,notes:`Notes`,followers:`Followers`,followees:`Following`,edit:`Edit profile`,common:`You both follow`,others:`and others`,and:`and`,comma:`, `,none:`No notes yet`,write:`Write your first note`},{title:`个人主页`,level:e=>`Lv.${e}`,notes:`笔记`,followers:`粉丝`,followees:`关注`,edit:`编辑资料`,common:`你们都关注了`,others:`等人`,and:`和`,comma:`、`,none:`还没有笔记。`,write:`写第一篇笔记`});function T({id:t}){let n=w(),c=v(),[{data:u,error:p},m]=f({query:b,variables:{id:t}});if(u?.user===null||p&&d(p)===`BAD_USER_INPUT`)return(0,C.jsx)(_,{});if(!u?.user)return(0,C.jsx)(a,{title:n.title,backTo:`/`,children:p?(0,C.jsx)(i,{error:p,onRetry:()=>m({requestPolicy:`network-only`})}):(0,C.jsx)(e,{shape:`row`,count:2})});let h=c?.userId===t;return(0,C.jsx)(a,{title:u.user.nickname,backTo:`/`,children:(0,C.jsxs)(`div`,{className:S.columns,children:[(0,C.jsx)(E,{user:u.user,mine:h}),(0,C.jsxs)(`section`,{className:S.notes,"aria-labelledby":`notes`,children:[(0,C.jsx)(`h2`,{id:`notes`,children:n.notes}),(0,C.jsx)(o,{name:`notes`,document:x,variables:{id:t},connection:({user:e})=>e?.notes,className:S.list,loading:(0,C.jsx)(e,{shape:`card`,count:2}),empty:(0,C.jsx)(s,{title:n.none,children:h&&(0,C.jsx)(l,{href:`/publish`,children:n.write})}),showEnd:!0,children:({node:e},t)=>(0,C.jsx)(r,{note:e,eager:t===0})})]})]})})}function E({user:e,mine:r}){let i=w(),{number:a}=p(),o=`/users/${e.id}`;return(0,C.jsxs)(`div`,{className:S.person,children:[(0,C.jsxs)(`div`,{className:S.top,children:[(0,C.jsx)(n,{user:e,size:80}),(0,C.jsxs)(`p`,{className:S.facts,children:[(0,C.jsx)(`span`,{className:S.level,children:i.level(e.level)}),e.city!==null&&(0,C.jsxs)(`span`,{className:S.city,children:[(0,C.jsx)(t,{"aria-hidden":`true`,size:16}),` `,(0,C.jsx)(`bdi`,{children:e.city})]})]}),r?(0,C.jsx)(l,{kind:`quiet`,small:!0,href:`/me/edit`,children:i.edit}):(0,C.jsx)(g,{user:e})]}),e.bio!==null&&(0,C.jsx)(`p`,{className:S.bio,dir:`auto`,children:e.bio}),(0,C.jsxs)(`ul`,{className:S.counts,children:[(0,C.jsxs)(`li`,{className:S.count,children:[(0,C.jsx)(`strong`,{children:a(e.noteCount)}),` `,i.notes]}),(0,C.jsx)(`li`,{children:(0,C.jsxs)(u,{href:`${o}/followers`,className:S.count,children:[(0,C.jsx)(`strong`,{children:a(e.followerCount)}),` `,i.followers]})}),(0,C.jsx)(`li`,{children:(0,C.jsxs)(u,{href:`${o}/followees`,className:S.count,children:[(0,C.jsx)(`strong`,{children:a(e.followeeCount)}),` `,i.followees]})})]}),!r&&(0,C.jsx)(D,{user:e})]})}function D({user:{id:e,commonFollowees:t}}){let r=w(),i=t.edges.map(({node:e})=>e);if(i.length===0)return null;let a=i.map(({nickname:e})=>h(e)),o=t.pageInfo.hasNextPage,s=o||a.length<2?``:` ${r.and} ${a.pop()??``}`;return(0,C.jsxs)(u,{href:`/users/${e}/common`,className:S.common,children:[(0,C.jsx)(`span`,{className:S.faces,children:i.map(e=>(0,C.jsx)(`span`,{children:(0,C.jsx)(n,{user:e,size:28})},e.id))}),(0,C.jsxs)(`span`,{children:[r.common,` `,a.join(r.comma),o?` ${r.others}`:s]})]})}export{T as User};