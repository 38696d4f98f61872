import { MessageCircle } from 'lucide-react'
import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { SaveButton } from '@/saves/SaveButton'
import { Avatar } from '@/ui/Avatar'
import { Picture } from '@/ui/Picture'
import { Stars } from '@/ui/Stars'

import { LikeButton } from './LikeButton'
import type { NoteCardFragment } from './note-card.gql'
import css from './NoteCard.module.css'

const useTexts = texts(
  { comments: (n: number) => (n === 1 ? '1 comment' : `${n} comments`) },
  { comments: (n) => `${n} 条评论` },
)

/** A note in a list. Title, author and shop are links. */
export function NoteCard({ note, eager = false }: { note: NoteCardFragment; eager?: boolean }) {
  const t = useTexts()
  const { ago, number } = useFormat()
  return (
    <article className={css.card} data-note={note.id}>
      <p className={css.author}>
        <Avatar user={note.author} size={32} />
        <Link href={`/users/${note.author.id}`} className={css.person} dir="auto">
          {note.author.nickname}
        </Link>
        <time dateTime={note.createdAt}>{ago(note.createdAt)}</time>
      </p>
      {note.images.length > 0 && (
        <div className={css.picture}>
          <Picture src={note.images[0]?.thumbnailUrl} alt="" ratio={16 / 10} eager={eager} />
        </div>
      )}
      <h3 dir="auto">
        <Link href={`/notes/${note.id}`} className={css.title}>
          {note.title}
        </Link>
      </h3>
      {note.authorRating !== null && (
        <p className={css.rating}>
          <Stars value={note.authorRating.stars} />
        </p>
      )}
      <p className={css.content} dir="auto">
        {note.content}
      </p>
      <p className={css.foot}>
        <Link href={`/shops/${note.shop.id}`} className={css.shop} dir="auto">
          {note.shop.name}
        </Link>
        <span className={css.comments}>
          <MessageCircle aria-hidden="true" size={20} />
          <span aria-hidden="true">{number(note.commentCount)}</span>
          <span className="visually-hidden">{t.comments(note.commentCount)}</span>
        </span>
        <LikeButton note={note} />
        <SaveButton type="Note" of={{ id: note.id, isSaved: note.isSaved }} name={note.title} />
      </p>
    </article>
  )
}
