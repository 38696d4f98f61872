import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { LikeButton } from '@/notes/LikeButton'
import { FollowButton } from '@/people/FollowButton'
import { NotFound } from '@/screens/notfound/NotFound'
import { SaveButton } from '@/saves/SaveButton'
import { useSession } from '@/session/session'
import { useTypeName } from '@/shops/typeNames'
import { Avatar } from '@/ui/Avatar'
import { Button, IconButton } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Gallery } from '@/ui/Gallery'
import { Picture } from '@/ui/Picture'
import { Score } from '@/ui/Score'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Stars } from '@/ui/Stars'
import { ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import { Comments } from './Comments'
import {
  DeleteNoteDocument,
  NoteDocument,
  NoteViewerDocument,
  type NoteQuery,
  type NoteShopFragment,
} from './note.gql'
import css from './Note.module.css'

const useTexts = texts(
  {
    title: 'Note',
    pictures: 'Photos',
    remove: 'Delete note',
    removeTitle: 'Delete this note?',
    removeText: 'Its comments will be deleted too. You can’t undo this.',
    yes: 'Delete',
    no: 'Keep note',
    deleted: 'Note deleted.',
    shop: 'Shop',
    liked: 'First liked by',
  },
  {
    title: '笔记',
    pictures: '图片',
    remove: '删除笔记',
    removeTitle: '删除这篇笔记？',
    removeText: '评论也会一并删除，且无法恢复。',
    yes: '删除',
    no: '保留',
    deleted: '笔记已删除。',
    shop: '店铺',
    liked: '最早点赞',
  },
)

/** A note with its pictures and comments. */
export function Note({ id }: { id: string }) {
  const t = useTexts()
  const [{ data, error }, refetch] = useApiQuery({ query: NoteDocument, variables: { id } })
  const [leaving, setLeaving] = useState(false)

  if (leaving) return null
  if (data?.note === null || (error && errorCode(error) === 'BAD_USER_INPUT')) return <NotFound />
  if (!data?.note) {
    return (
      <Screen title={t.title} backTo="/">
        {error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton shape="card" />
        )}
      </Screen>
    )
  }
  const { note } = data
  return (
    <Screen
      title={note.title}
      backTo="/"
      action={<DeleteButton note={note} onDeleted={setLeaving} />}
    >
      <div className={note.images.length > 0 ? css.columns : css.column} data-note={note.id}>
        {note.images.length > 0 && (
          <div className={css.pictures}>
            <Gallery label={t.pictures} images={note.images} ratio={shapeOf(note.images)} whole />
          </div>
        )}
        <div className={css.text}>
          <Author note={note} />
          {note.authorRating !== null && <Stars value={note.authorRating.stars} size={20} />}
          <p className={css.content} dir="auto">
            {note.content}
          </p>
          <Shop shop={note.shop} />
          <Likes note={note} />
          <Comments noteId={note.id} count={note.commentCount} />
        </div>
      </div>
    </Screen>
  )
}

type Shown = NonNullable<NoteQuery['note']>

const tallest = 3 / 4 // width over height
const widest = 16 / 9

/** Aspect ratio of the gallery: that of the first picture, within limits. */
function shapeOf([first]: Shown['images']): number {
  const ratio = first?.width && first.height ? first.width / first.height : 4 / 3
  return Math.min(Math.max(ratio, tallest), widest)
}

function Author({ note: { author, createdAt } }: { note: Shown }) {
  const { ago, moment } = useFormat()
  return (
    <div className={css.author}>
      <Avatar user={author} size={44} />
      <p>
        <Link href={`/users/${author.id}`} className={css.name} dir="auto">
          {author.nickname}
        </Link>
        <span className={css.facts}>
          <time dateTime={createdAt} title={moment(createdAt)}>
            {ago(createdAt)}
          </time>
          {author.city !== null && <span dir="auto">{author.city}</span>}
        </span>
      </p>
      <FollowButton user={author} small />
    </div>
  )
}

function Shop({ shop }: { shop: NoteShopFragment }) {
  const t = useTexts()
  const typeName = useTypeName()
  return (
    <section className={css.shop} aria-labelledby="shop">
      <h2 id="shop" className="visually-hidden">
        {t.shop}
      </h2>
      <div className={css.shopPicture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} />
      </div>
      <div>
        <h3 dir="auto">
          <Link href={`/shops/${shop.id}`} className={css.link}>
            {shop.name}
          </Link>
        </h3>
        <p className={css.facts}>
          <Score shop={shop} />
          <span dir="auto">{typeName(shop.type.name)}</span>
          {shop.area !== null && <span dir="auto">{shop.area}</span>}
        </p>
      </div>
    </section>
  )
}

function Likes({ note }: { note: Shown }) {
  const t = useTexts()
  return (
    <div className={css.likes}>
      <LikeButton note={note} />
      {note.firstLikers.length > 0 && (
        <ul className={css.likers} aria-label={t.liked}>
          {note.firstLikers.map((user) => (
            <li key={user.id}>
              <Link
                href={`/users/${user.id}`}
                aria-label={user.nickname}
                title={isolate(user.nickname)}
              >
                <Avatar user={user} size={32} />
              </Link>
            </li>
          ))}
        </ul>
      )}
      <SaveButton type="Note" of={note} name={note.title} />
    </div>
  )
}

/** Deletes a note, for its author and administrators. */
function DeleteButton({ note, onDeleted }: { note: Shown; onDeleted: (gone: boolean) => void }) {
  const t = useTexts()
  const session = useSession()
  const [, navigate] = useLocation()
  const [confirming, setConfirming] = useState(false)
  const [remove, busy] = useApiMutation(DeleteNoteDocument)
  const [{ data }] = useApiQuery({
    query: NoteViewerDocument,
    variables: {},
    requestPolicy: 'cache-first',
    pause: session === null,
    refetchOnResume: false,
  })
  if (session === null) return null
  if (session.userId !== note.author.id && data?.me?.role !== 'ADMIN') return null

  const act = async () => {
    const result = await remove({ id: note.id })
    if (!result.ok) return
    onDeleted(true)
    toast(t.deleted)
    navigate(`/users/${note.author.id}`, { replace: true })
  }
  return (
    <>
      <IconButton label={t.remove} onClick={() => setConfirming(true)}>
        <Trash2 aria-hidden="true" size={20} />
      </IconButton>
      {confirming && (
        <Dialog title={t.removeTitle} onClose={() => setConfirming(false)}>
          <p>{t.removeText}</p>
          <div className={css.choice}>
            <Button kind="quiet" onClick={() => setConfirming(false)}>
              {t.no}
            </Button>
            <Button busy={busy} onClick={act}>
              {t.yes}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
