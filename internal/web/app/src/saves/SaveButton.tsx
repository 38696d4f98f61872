import { Bookmark } from 'lucide-react'
import type { TypedDocumentNode } from 'urql'

import type { UserError } from '@/api/errors'
import { useApiMutation } from '@/api/useApiMutation'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { CountToggle } from '@/ui/CountToggle'

import {
  SaveNoteDocument,
  SaveShopDocument,
  UnsaveNoteDocument,
  UnsaveShopDocument,
} from './save.gql'

const useTexts = texts(
  { save: (name: string) => `Save “${name}”` },
  { save: (name) => `收藏“${name}”` },
)

type Document = TypedDocumentNode<
  Record<string, { readonly userErrors: readonly UserError[] }>,
  { id: string }
>

const documents: Record<'Shop' | 'Note', readonly [save: Document, unsave: Document]> = {
  Shop: [SaveShopDocument, UnsaveShopDocument],
  Note: [SaveNoteDocument, UnsaveNoteDocument],
}

interface SaveButtonProps {
  readonly type: 'Shop' | 'Note'
  readonly of: { readonly id: string; readonly isSaved: boolean; readonly saveCount?: number }
  /** Of the shop or note, for screen readers. */
  readonly name: string
}

/**
 * Saves a shop or note, or removes it from the saved ones. It shows the change immediately and rolls
 * back if rejected. It shows the count if `of` has one.
 */
export function SaveButton({ type, of, name }: SaveButtonProps) {
  const t = useTexts()
  const [save] = useApiMutation(documents[type][0])
  const [unsave] = useApiMutation(documents[type][1])
  return (
    <CountToggle
      icon={Bookmark}
      label={t.save(isolate(name))}
      pressed={of.isSaved}
      count={of.saveCount}
      onToggle={() => void (of.isSaved ? unsave : save)({ id: of.id })}
    />
  )
}
