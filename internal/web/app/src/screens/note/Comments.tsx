import { useId, useRef, useState, type FormEvent } from 'react'
import { Link } from 'wouter'

import { refusalOf, useDo } from '@/api/useDo'
import { useRefusalText } from '@/api/errors'
import { useEntryState } from '@/app/entries'
import { leavesOpen } from '@/forms/doubt'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { LikeToggle } from '@/notes/LikeToggle'
import { useSession } from '@/session/session'
import { signInPath } from '@/session/useSignedIn'
import { Avatar } from '@/ui/Avatar'
import { Button, ButtonLink } from '@/ui/Button'
import { Area } from '@/ui/Field'
import { lengthOf } from '@/ui/graphemes'
import { Pages } from '@/ui/Pages'
import { Skeleton } from '@/ui/Skeleton'
import { Empty } from '@/ui/State'

import css from './Comments.module.css'
import {
  AddCommentDocument,
  CommentsDocument,
  LikeCommentDocument,
  RepliesDocument,
  UnlikeCommentDocument,
  type CommentFragment,
  type ReplyFragment,
  type ThreadFragment,
} from './note.gql'

const useTexts = texts(
  {
    comments: (n: string) => `Comments (${n})`,
    add: 'Add a comment',
    replyTo: (name: string) => `Reply to ${name}`,
    reply: 'Reply',
    send: 'Send',
    cancel: 'Cancel',
    signIn: 'Sign in to comment',
    none: 'Nobody has said anything yet. Be the first.',
    like: (name: string) => `Like the comment of ${name}`,
    to: 'to',
    all: (n: string) => `Show all ${n} replies`,
    left: (n: string) => `${n} characters left`,
    doubt: 'No answer came: it may be here already. Look before you send it again.',
  },
  {
    comments: (n) => `评论（${n}）`,
    add: '写评论',
    replyTo: (name) => `回复 ${name}`,
    reply: '回复',
    send: '发送',
    cancel: '取消',
    signIn: '登录后评论',
    none: '还没有评论，来说点什么吧。',
    like: (name) => `点赞 ${name} 的评论`,
    to: '回复',
    all: (n) => `查看全部 ${n} 条回复`,
    left: (n) => `还可输入 ${n} 字`,
    doubt: '没有收到回应，评论可能已发出。再次发送前请先查看。',
  },
)

const longest = 500 // characters
const few = 2 // replies that are shown of each comment at first, as in the Thread fragment

/** What people say about a note, and what the viewer has to say. */
export function Comments({ noteId, count }: { noteId: string; count: number }) {
  const t = useTexts()
  const { number } = useFormat()
  return (
    <section className={css.section} aria-labelledby="comments">
      <h2 id="comments">{t.comments(number(count))}</h2>
      <Composer noteId={noteId} label={t.add} />
      <Pages
        name="comments"
        document={CommentsDocument}
        variables={{ noteId }}
        connection={({ note }) => note?.comments}
        className={css.list}
        loading={<Skeleton shape="text" count={2} />}
        empty={<Empty title={t.none} />}
      >
        {({ node }) => <Thread noteId={noteId} thread={node} />}
      </Pages>
    </section>
  )
}

/** A comment, and what was answered below it. */
function Thread({ noteId, thread }: { noteId: string; thread: ThreadFragment }) {
  const t = useTexts()
  const { number } = useFormat()
  const [open, setOpen] = useEntryState(`replies:${thread.id}`, false)
  const answer = (reply: ReplyFragment) => (
    <Comment
      noteId={noteId}
      comment={reply}
      // All replies stand below the comment: only those to other replies say to whom.
      to={reply.parent !== null && reply.parent.id !== thread.id ? reply.parent.author : null}
      onAnswered={() => setOpen(true)}
    />
  )
  const first = thread.replies.edges.length > 0 && (
    <ul className={css.replies}>
      {thread.replies.edges.map(({ node }) => (
        <li key={node.id}>{answer(node)}</li>
      ))}
    </ul>
  )
  return (
    <>
      <Comment noteId={noteId} comment={thread} onAnswered={() => setOpen(true)} />
      {open && thread.replyCount > few ? (
        <Pages
          name={`replies-of:${thread.id}`}
          document={RepliesDocument}
          variables={{ commentId: thread.id }}
          connection={({ node }) => (node && 'replies' in node ? node.replies : null)}
          className={css.replies}
          loading={first || <Skeleton shape="text" />}
          empty={null}
        >
          {({ node }) => answer(node)}
        </Pages>
      ) : (
        <>
          {first}
          {thread.replyCount > thread.replies.edges.length && (
            <div className={css.more}>
              <Button kind="plain" small onClick={() => setOpen(true)}>
                {t.all(number(thread.replyCount))}
              </Button>
            </div>
          )}
        </>
      )}
    </>
  )
}

interface CommentProps {
  readonly noteId: string
  readonly comment: CommentFragment
  /** To whom it speaks, where its place does not say it. */
  readonly to?: { readonly id: string; readonly nickname: string } | null
  readonly onAnswered: () => void
}

function Comment({ noteId, comment, to = null, onAnswered }: CommentProps) {
  const t = useTexts()
  const { ago } = useFormat()
  const session = useSession()
  const [answering, setAnswering] = useState(false)
  const button = useRef<HTMLSpanElement>(null)
  const [like] = useDo(LikeCommentDocument)
  const [unlike] = useDo(UnlikeCommentDocument)
  const { author } = comment

  const close = () => {
    setAnswering(false)
    button.current?.querySelector('button')?.focus()
  }
  return (
    <article className={css.comment} data-comment={comment.id}>
      <Avatar user={author} size={36} />
      <div className={css.body}>
        <p className={css.head}>
          <Link href={`/users/${author.id}`} className={css.name} dir="auto">
            {author.nickname}
          </Link>
          {to !== null && (
            <span>
              {t.to}{' '}
              <Link href={`/users/${to.id}`} className={css.name} dir="auto">
                {to.nickname}
              </Link>
            </span>
          )}
          <time dateTime={comment.createdAt}>{ago(comment.createdAt)}</time>
        </p>
        <p className={css.content} dir="auto">
          {comment.content}
        </p>
        <div className={css.acts}>
          <LikeToggle
            label={t.like(isolate(author.nickname))}
            liked={comment.isLiked}
            count={comment.likeCount}
            onToggle={() => void (comment.isLiked ? unlike : like)({ id: comment.id })}
          />
          {session !== null && (
            <span ref={button}>
              <Button
                kind="plain"
                small
                aria-expanded={answering}
                aria-label={t.replyTo(isolate(author.nickname))}
                onClick={() => (answering ? close() : setAnswering(true))}
              >
                {t.reply}
              </Button>
            </span>
          )}
        </div>
        {answering && (
          <Composer
            noteId={noteId}
            parentId={comment.id}
            label={t.replyTo(isolate(author.nickname))}
            onCancel={close}
            onSent={() => {
              close()
              onAnswered()
            }}
          />
        )}
      </div>
    </article>
  )
}

interface ComposerProps {
  readonly noteId: string
  readonly parentId?: string
  readonly label: string
  readonly onCancel?: () => void
  readonly onSent?: () => void
}

/** Where one writes a comment. What could not be sent stays. */
function Composer({ noteId, parentId, label, onCancel, onSent }: ComposerProps) {
  const t = useTexts()
  const { number } = useFormat()
  const session = useSession()
  const refusalText = useRefusalText()
  // Somebody else who signs in here does not find it.
  const of = `comment:${session?.userId ?? ''}:${parentId ?? ''}`
  const [content, setContent] = useEntryState(of, '')
  const written = useRef(content)
  const [error, setError] = useState<string>()
  const [add, busy] = useDo(AddCommentDocument, { say: false })
  const id = useId()
  if (session === null) {
    return (
      <ButtonLink kind="quiet" href={signInPath()}>
        {t.signIn}
      </ButtonLink>
    )
  }

  const text = content.trim()
  const left = longest - lengthOf(text)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy || text === '' || left < 0) return
    setError(undefined)
    const done = await add({ input: { noteId, content: text, parentId: parentId ?? null } })
    if (done.ok) {
      // Unless the next one is being written.
      if (written.current === content) setContent('')
      onSent?.()
      return
    }
    const refusal = refusalOf(done.refusals, 'content') ?? done.refusals[0]
    if (refusal) setError(refusalText(refusal))
    else if (leavesOpen(done.error) && navigator.onLine) setError(t.doubt)
  }
  return (
    <form className={css.composer} id={id} onSubmit={submit}>
      <Area
        label={label}
        error={left < 0 ? t.left(number(left)) : error}
        {...(left < 100 && left >= 0 ? { hint: t.left(number(left)) } : {})}
        rows={parentId === undefined ? 2 : 3}
        // Whoever pressed "reply" wants to write now.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus={parentId !== undefined}
        value={content}
        onChange={({ target: { value } }) => {
          written.current = value
          setContent(value)
        }}
      />
      {(text !== '' || onCancel) && (
        <div className={css.send}>
          {onCancel && (
            <Button kind="quiet" small onClick={onCancel}>
              {t.cancel}
            </Button>
          )}
          <Button type="submit" small busy={busy} disabled={text === '' || left < 0}>
            {t.send}
          </Button>
        </div>
      )}
    </form>
  )
}
