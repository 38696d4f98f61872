import { useId, useRef, useState, type FormEvent } from 'react'
import { Link } from 'wouter'

import { userErrorFor, useApiMutation } from '@/api/useApiMutation'
import { useUserErrorText } from '@/api/errors'
import { useEntryState } from '@/app/historyEntry'
import { isOutcomeUnknown } from '@/forms/outcomeUnknown'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { LikeToggle } from '@/notes/LikeToggle'
import { useSession } from '@/session/session'
import { signInPath } from '@/session/useSignInGuard'
import { Avatar } from '@/ui/Avatar'
import { Button, ButtonLink } from '@/ui/Button'
import { TextArea } from '@/ui/Field'
import { textLength } from '@/ui/graphemes'
import { Pages } from '@/ui/Pages'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'

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
    none: 'No comments yet. Be the first to comment.',
    like: (name: string) => `Like ${name}’s comment`,
    repliedTo: 'replied to',
    all: (n: string) => `Show all ${n} replies`,
    left: (n: string) => `${n} characters left`,
    outcomeUnknown:
      'We couldn’t confirm that your comment was posted. Check before you send it again.',
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
    repliedTo: '回复',
    all: (n) => `查看全部 ${n} 条回复`,
    left: (n) => `还可输入 ${n} 字`,
    outcomeUnknown: '无法确认评论是否已发送，再次发送前请先查看。',
  },
)

const maxLength = 500 // characters
const previewReplies = 2 // replies shown per comment at first, as in the Thread fragment

/** The comments of a note, with a form. */
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
        empty={<EmptyState title={t.none} />}
      >
        {({ node }) => <Thread noteId={noteId} thread={node} />}
      </Pages>
    </section>
  )
}

/** A comment with its replies. */
function Thread({ noteId, thread }: { noteId: string; thread: ThreadFragment }) {
  const t = useTexts()
  const { number } = useFormat()
  const [open, setOpen] = useEntryState(`replies:${thread.id}`, false)
  const renderReply = (reply: ReplyFragment) => (
    <Comment
      noteId={noteId}
      comment={reply}
      // All replies are listed under the top-level comment. Replies to replies also name their
      // recipient.
      to={reply.parent !== null && reply.parent.id !== thread.id ? reply.parent.author : null}
      onReplied={() => setOpen(true)}
    />
  )
  const first = thread.replies.edges.length > 0 && (
    <ul className={css.replies}>
      {thread.replies.edges.map(({ node }) => (
        <li key={node.id}>{renderReply(node)}</li>
      ))}
    </ul>
  )
  return (
    <>
      <Comment noteId={noteId} comment={thread} onReplied={() => setOpen(true)} />
      {open && thread.replyCount > previewReplies ? (
        <Pages
          name={`replies-of:${thread.id}`}
          document={RepliesDocument}
          variables={{ commentId: thread.id }}
          connection={({ node }) => (node && 'replies' in node ? node.replies : null)}
          className={css.replies}
          loading={first || <Skeleton shape="text" />}
          empty={null}
        >
          {({ node }) => renderReply(node)}
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
  /** The recipient, for replies to replies. */
  readonly to?: { readonly id: string; readonly nickname: string } | null
  readonly onReplied: () => void
}

function Comment({ noteId, comment, to = null, onReplied }: CommentProps) {
  const t = useTexts()
  const { ago } = useFormat()
  const session = useSession()
  const [replying, setReplying] = useState(false)
  const button = useRef<HTMLSpanElement>(null)
  const [like] = useApiMutation(LikeCommentDocument)
  const [unlike] = useApiMutation(UnlikeCommentDocument)
  const { author } = comment

  const close = () => {
    setReplying(false)
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
              {t.repliedTo}{' '}
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
                aria-expanded={replying}
                aria-label={t.replyTo(isolate(author.nickname))}
                onClick={() => (replying ? close() : setReplying(true))}
              >
                {t.reply}
              </Button>
            </span>
          )}
        </div>
        {replying && (
          <Composer
            noteId={noteId}
            parentId={comment.id}
            label={t.replyTo(isolate(author.nickname))}
            onCancel={close}
            onSent={() => {
              close()
              onReplied()
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

/** A form for a comment. Unsent text is kept. */
function Composer({ noteId, parentId, label, onCancel, onSent }: ComposerProps) {
  const t = useTexts()
  const { number } = useFormat()
  const session = useSession()
  const userErrorText = useUserErrorText()
  // The draft belongs to one user.
  const of = `comment:${session?.userId ?? ''}:${parentId ?? ''}`
  const [content, setContent] = useEntryState(of, '')
  const latest = useRef(content)
  const [error, setError] = useState<string>()
  const [add, busy] = useApiMutation(AddCommentDocument, { toastErrors: false })
  const id = useId()
  if (session === null) {
    return (
      <ButtonLink kind="quiet" href={signInPath()}>
        {t.signIn}
      </ButtonLink>
    )
  }

  const text = content.trim()
  const left = maxLength - textLength(text)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy || text === '' || left < 0) return
    setError(undefined)
    const result = await add({ input: { noteId, content: text, parentId: parentId ?? null } })
    if (result.ok) {
      // Unless the user has started the next comment.
      if (latest.current === content) setContent('')
      onSent?.()
      return
    }
    const userError = userErrorFor(result.userErrors, 'content') ?? result.userErrors[0]
    if (userError) setError(userErrorText(userError))
    else if (isOutcomeUnknown(result.error) && navigator.onLine) setError(t.outcomeUnknown)
  }
  return (
    <form className={css.composer} id={id} onSubmit={submit}>
      <TextArea
        label={label}
        error={left < 0 ? t.left(number(left)) : error}
        {...(left < 100 && left >= 0 ? { hint: t.left(number(left)) } : {})}
        rows={parentId === undefined ? 2 : 3}
        // The user pressed "Reply" to type.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus={parentId !== undefined}
        value={content}
        onChange={({ target: { value } }) => {
          latest.current = value
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
