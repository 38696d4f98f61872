import{B as e,C as t,P as n,_ as r,g as i,h as a,j as o,u as s}from"./app-VJxpKxNi.js";import{_ as c,c as l,t as u,u as d}from"./Screen-CJ1iDuWr.js";import{t as f}from"./errors-DTJNFjfx.js";import{t as p}from"./useApiQuery-DhNs3sUT.js";import{i as m,r as h}from"./preload-helper-DXbBgPnf.js";import{t as g}from"./FollowButton-BkukSQtU.js";import{NotFound as _}from"./NotFound-B13sP8Kt.js";import{a as v}from"./session-DRJnfh9f.js";import{t as y}from"./document-D_a4HVPm.js";var b=y(`7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3`,`query User($id: ID!) {
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
}`),x=y(`ffb1c60d28bc22ed665f3f5654934365a0c7de27392144ccdcb91a0c9ee896e8`,`query UserNotes($id: ID!, $after: Cursor) {
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
}`),S={columns:`_columns_1km5p_1`,person:`_person_1km5p_7`,top:`_top_1km5p_16`,facts:`_facts_1km5p_22`,level:`_level_1km5p_32`,city:`_city_1km5p_41`,bio:`_bio_1km5p_47`,counts:`_counts_1km5p_51`,count:`_count_1km5p_51`,common:`_common_1km5p_80`,faces:`_faces_1km5p_89`,notes:`_notes_1km5p_104`,list:`_list_1km5p_105`},C=m(),w=d({title:`Profile`,level:e=>`Level ${e}`,notes:`Notes`,followers:`Followers`,followees:`Following`,edit:`Edit profile`,common:`You both follow`,others:`and others`,and:`and`,comma:`, `,none:`No notes yet`,write:`Write your first note`},{title:`个人主页`,level:e=>`Lv.${e}`,notes:`笔记`,followers:`粉丝`,followees:`关注`,edit:`编辑资料`,common:`你们都关注了`,others:`等人`,and:`和`,comma:`、`,none:`还没有笔记。`,write:`写第一篇笔记`});function T({id:e}){let n=w(),o=v(),[{data:c,error:d},m]=p({query:b,variables:{id:e}});if(c?.user===null||d&&f(d)===`BAD_USER_INPUT`)return(0,C.jsx)(_,{});if(!c?.user)return(0,C.jsx)(u,{title:n.title,backTo:`/`,children:d?(0,C.jsx)(i,{error:d,onRetry:()=>m({requestPolicy:`network-only`})}):(0,C.jsx)(r,{shape:`row`,count:2})});let h=o?.userId===e;return(0,C.jsx)(u,{title:c.user.nickname,backTo:`/`,children:(0,C.jsxs)(`div`,{className:S.columns,children:[(0,C.jsx)(E,{user:c.user,mine:h}),(0,C.jsxs)(`section`,{className:S.notes,"aria-labelledby":`notes`,children:[(0,C.jsx)(`h2`,{id:`notes`,children:n.notes}),(0,C.jsx)(s,{name:`notes`,document:x,variables:{id:e},connection:({user:e})=>e?.notes,className:S.list,loading:(0,C.jsx)(r,{shape:`card`,count:2}),empty:(0,C.jsx)(a,{title:n.none,children:h&&(0,C.jsx)(l,{href:`/publish`,children:n.write})}),showEnd:!0,children:({node:e},n)=>(0,C.jsx)(t,{note:e,eager:n===0})})]})]})})}function E({user:t,mine:r}){let i=w(),{number:a}=n(),s=`/users/${t.id}`;return(0,C.jsxs)(`div`,{className:S.person,children:[(0,C.jsxs)(`div`,{className:S.top,children:[(0,C.jsx)(o,{user:t,size:80}),(0,C.jsxs)(`p`,{className:S.facts,children:[(0,C.jsx)(`span`,{className:S.level,children:i.level(t.level)}),t.city!==null&&(0,C.jsxs)(`span`,{className:S.city,children:[(0,C.jsx)(e,{"aria-hidden":`true`,size:16}),` `,(0,C.jsx)(`bdi`,{children:t.city})]})]}),r?(0,C.jsx)(l,{kind:`quiet`,small:!0,href:`/me/edit`,children:i.edit}):(0,C.jsx)(g,{user:t})]}),t.bio!==null&&(0,C.jsx)(`p`,{className:S.bio,dir:`auto`,children:t.bio}),(0,C.jsxs)(`ul`,{className:S.counts,children:[(0,C.jsxs)(`li`,{className:S.count,children:[(0,C.jsx)(`strong`,{children:a(t.noteCount)}),` `,i.notes]}),(0,C.jsx)(`li`,{children:(0,C.jsxs)(c,{href:`${s}/followers`,className:S.count,children:[(0,C.jsx)(`strong`,{children:a(t.followerCount)}),` `,i.followers]})}),(0,C.jsx)(`li`,{children:(0,C.jsxs)(c,{href:`${s}/followees`,className:S.count,children:[(0,C.jsx)(`strong`,{children:a(t.followeeCount)}),` `,i.followees]})})]}),!r&&(0,C.jsx)(D,{user:t})]})}function D({user:{id:e,commonFollowees:t}}){let n=w(),r=t.edges.map(({node:e})=>e);if(r.length===0)return null;let i=r.map(({nickname:e})=>h(e)),a=t.pageInfo.hasNextPage,s=a||i.length<2?``:` ${n.and} ${i.pop()??``}`;return(0,C.jsxs)(c,{href:`/users/${e}/common`,className:S.common,children:[(0,C.jsx)(`span`,{className:S.faces,children:r.map(e=>(0,C.jsx)(`span`,{children:(0,C.jsx)(o,{user:e,size:28})},e.id))}),(0,C.jsxs)(`span`,{children:[n.common,` `,i.join(n.comma),a?` ${n.others}`:s]})]})}export{T as User};