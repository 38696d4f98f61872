import { Trash2 } from 'lucide-react'
import { useState, type FormEvent } from 'react'

import { useUserErrorText, type UserError } from '@/api/errors'
import { useApiMutation } from '@/api/useApiMutation'
import { invalidField, useFieldErrors, useFocusOnError } from '@/forms/Form'
import { isOutcomeUnknown } from '@/forms/outcomeUnknown'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Field, TextArea } from '@/ui/Field'
import { textLength } from '@/ui/graphemes'
import { toast } from '@/ui/toast'

import { aspectsOf, useAspectTexts, type Aspect, type RatedShop } from './aspects'
import { DeleteRatingDocument, RateShopDocument, RateWithNoteDocument } from './rating.gql'
import css from './RateSheet.module.css'
import { StarsField } from './StarsField'

const useTexts = texts(
  {
    sheet: (name: string) => `Rate ${name}`,
    stars: 'Your rating',
    more: 'Add details (optional)',
    title: 'Title',
    titleBounds: 'Add a title of at most 100 characters.',
    content: 'Your note',
    contentHint: 'With text, your rating is published as a note.',
    contentBounds: 'Write 1 to 2,000 characters.',
    rate: 'Submit rating',
    publish: 'Publish',
    remove: 'Delete rating',
    rated: 'Thanks for your rating!',
    published: 'Published.',
    removed: 'Rating deleted.',
    outcomeUnknown:
      'We couldn’t confirm that your note was published. Check your notes before you publish again.',
  },
  {
    sheet: (name) => `评价 ${name}`,
    stars: '我的评分',
    more: '补充评价（选填）',
    title: '标题',
    titleBounds: '请填写标题，最多 100 个字符。',
    content: '正文',
    contentHint: '填写文字后，评分会作为笔记发布。',
    contentBounds: '请填写 1 到 2000 个字符。',
    rate: '提交评分',
    publish: '发布',
    remove: '删除评分',
    rated: '感谢你的评分！',
    published: '发布成功。',
    removed: '评分已删除。',
    outcomeUnknown: '无法确认笔记是否已发布。再次发布前请先查看你的笔记。',
  },
)

const longestTitle = 100
const longestContent = 2000

interface RateSheetProps {
  readonly shop: RatedShop
  readonly onClose: () => void
}

/** Rates a shop: stars first, then aspects and a note. It changes or deletes an earlier rating. */
export function RateSheet({ shop, onClose }: RateSheetProps) {
  const t = useTexts()
  const aspectTexts = useAspectTexts()
  const errorText = useUserErrorText()
  const [rate, rating] = useApiMutation(RateShopDocument, { toastErrors: false })
  const [publish, publishing] = useApiMutation(RateWithNoteDocument, { toastErrors: false })
  const [remove, removing] = useApiMutation(DeleteRatingDocument, { toastErrors: false })
  const [before] = useState(shop.viewerRating)
  const [stars, setStars] = useState(before?.stars ?? null)
  const [aspects, setAspects] = useState<Record<Aspect, number | null>>({
    taste: before?.taste ?? null,
    environment: before?.environment ?? null,
    service: before?.service ?? null,
  })
  const [title, setTitle] = useState('')
  const [content, setContent] = useState('')
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const [doubt, setDoubt] = useState(false)
  const form = useFocusOnError(userErrors)
  const errorAt = useFieldErrors(userErrors)
  const rest = userErrors.filter(
    ({ field }) => !field?.some((name) => name === 'title' || name === 'content'),
  )
  const withText = title.trim() !== '' || content.trim() !== ''

  /** Closes the sheet if all is done, or shows why not. */
  const finish = (
    result: { ok: true } | { ok: false; userErrors: readonly UserError[] },
    done: string,
  ) => {
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) return
    toast(done)
    onClose()
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (stars === null) return
    setDoubt(false)
    const rated = { shopId: shop.id, stars, ...aspects }
    if (!withText) {
      finish(await rate({ input: rated }), t.rated)
      return
    }
    const invalid = [
      !fits(title, longestTitle) && invalidField('title'),
      !fits(content, longestContent) && invalidField('content'),
    ].filter((one) => one !== false)
    setUserErrors(invalid)
    if (invalid.length > 0) return
    const note = { shopId: shop.id, title: title.trim(), content: content.trim() }
    const result = await publish({ input: { ...note, stars } })
    setDoubt(!result.ok && isOutcomeUnknown(result.error))
    // A note carries only stars. Rating again is idempotent.
    if (result.ok && Object.values(aspects).some((value) => value !== null)) {
      await rate({ input: rated })
    }
    finish(result, t.published)
  }

  return (
    <Dialog title={t.sheet(isolate(shop.name))} onClose={onClose}>
      <form ref={form} className={css.form} onSubmit={submit} noValidate>
        <StarsField large label={t.stars} value={stars} onChange={setStars} />
        {stars !== null && (
          <>
            <h3>{t.more}</h3>
            <div>
              {aspectsOf(shop.type.name).map((aspect) => (
                <StarsField
                  key={aspect}
                  optional
                  label={aspectTexts[aspect]}
                  value={aspects[aspect]}
                  onChange={(value) => setAspects({ ...aspects, [aspect]: value })}
                />
              ))}
            </div>
            <Field
              label={t.title}
              error={errorAt('title', t.titleBounds)}
              limit={longestTitle}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
            />
            <TextArea
              label={t.content}
              hint={t.contentHint}
              error={errorAt('content', t.contentBounds)}
              limit={longestContent}
              value={content}
              onChange={(event) => setContent(event.target.value)}
            />
          </>
        )}
        {rest.map((userError) => (
          <p key={userError.code} role="alert" className={css.error}>
            {errorText(userError)}
          </p>
        ))}
        {doubt && (
          <p role="alert" className={css.error}>
            {t.outcomeUnknown}
          </p>
        )}
        <Button type="submit" wide busy={rating || publishing} disabled={stars === null}>
          {withText ? t.publish : t.rate}
        </Button>
        {before !== null && (
          <Button
            kind="plain"
            busy={removing}
            onClick={async () => finish(await remove({ shopId: shop.id }), t.removed)}
          >
            <Trash2 aria-hidden="true" size={18} />
            {t.remove}
          </Button>
        )}
      </form>
    </Dialog>
  )
}

function fits(text: string, longest: number): boolean {
  const n = textLength(text)
  return n > 0 && n <= longest
}
