import { useSearchParams } from 'wouter'

import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import { ShopCard } from '@/shops/ShopCard'
import { ButtonLink } from '@/ui/Button'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'
import { Tabs } from '@/ui/Tabs'

import { SavedNotesDocument, SavedShopsDocument } from './saved.gql'
import css from './Saved.module.css'

const useTexts = texts(
  {
    title: 'Saved',
    shops: 'Shops',
    notes: 'Notes',
    noShops: 'No saved shops yet. Tap the bookmark of a shop to keep it here.',
    noNotes: 'No saved notes yet. Tap the bookmark of a note to keep it here.',
    browse: 'Discover shops',
  },
  {
    title: '我的收藏',
    shops: '店铺',
    notes: '笔记',
    noShops: '还没有收藏店铺，点击店铺的书签即可收藏。',
    noNotes: '还没有收藏笔记，点击笔记的书签即可收藏。',
    browse: '去逛逛',
  },
)

/**
 * The shops and notes that the viewer saved. A removed one stays in the list until the next visit, so
 * that it can be saved again.
 */
export function Saved() {
  const t = useTexts()
  const [params] = useSearchParams()
  const notes = params.get('part') === 'notes'
  const browse = <ButtonLink href="/">{t.browse}</ButtonLink>
  return (
    <Screen title={t.title} backTo="/me">
      <div className={css.tabs}>
        <Tabs
          label={t.title}
          tabs={[
            { href: '/saved', text: t.shops },
            { href: '/saved?part=notes', text: t.notes },
          ]}
          current={notes ? '/saved?part=notes' : '/saved'}
        />
      </div>
      <h2 className="visually-hidden">{notes ? t.notes : t.shops}</h2>
      {notes ? (
        <Pages
          name="notes"
          document={SavedNotesDocument}
          variables={{}}
          connection={({ me }) => me?.savedNotes}
          alwaysRefetch
          className={css.list}
          loading={<Skeleton shape="card" count={2} />}
          empty={<EmptyState title={t.noNotes}>{browse}</EmptyState>}
        >
          {({ node }, i) => <NoteCard note={node} eager={i === 0} />}
        </Pages>
      ) : (
        <Pages
          name="shops"
          document={SavedShopsDocument}
          variables={{}}
          connection={({ me }) => me?.savedShops}
          alwaysRefetch
          className={css.list}
          loading={<Skeleton shape="row" count={6} />}
          empty={<EmptyState title={t.noShops}>{browse}</EmptyState>}
        >
          {({ node }, i) => <ShopCard shop={node} eager={i < 4} />}
        </Pages>
      )}
    </Screen>
  )
}
