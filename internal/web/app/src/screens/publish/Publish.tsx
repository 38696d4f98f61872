import { Store } from 'lucide-react'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { useLocation, useSearchParams } from 'wouter'

import { useUserErrorText, type UserError } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { userErrorFor, useApiMutation } from '@/api/useApiMutation'
import { isOutcomeUnknown } from '@/forms/outcomeUnknown'
import { texts } from '@/i18n/texts'
import { useNetwork } from '@/live/network'
import { useSession } from '@/session/session'
import { Button, ButtonLink } from '@/ui/Button'
import { TextArea, Field } from '@/ui/Field'
import { textLength } from '@/ui/graphemes'
import { Screen } from '@/ui/Screen'
import { toast } from '@/ui/toast'

import { change, clear, currentDraft, open, pending, uploadsFinished, useDraft } from './draft'
import { Pictures } from './Pictures'
import { PickedShopDocument, PublishNoteDocument } from './publish.gql'
import css from './Publish.module.css'
import { ShopPicker } from './ShopPicker'

const useTexts = texts(
  {
    title: 'Write a note',
    shop: 'Shop',
    choose: 'Choose a shop',
    change: 'Change shop',
    headline: 'Title',
    content: 'Your note',
    count: (n: number, of: number) => `${n} / ${of}`,
    noShop: 'Choose a shop.',
    noTitle: 'Add a title.',
    noContent: 'Write something about the shop.',
    long: (n: number, of: number) => `${n} / ${of}. Make it shorter.`,
    go: 'Publish',
    waiting: 'Uploading photos…',
    failed: 'Some photos didn’t upload. Retry or remove them.',
    offline: 'You’re offline. Your note is saved in this tab, so you can publish it later.',
    published: 'Published.',
    outcomeUnknown: 'We couldn’t confirm that your note was published.',
    outcomeHint: 'Check your notes before you publish again, so you don’t post it twice.',
    viewNotes: 'View my notes',
    again: 'Publish again',
    discard: 'Already published? Discard draft',
  },
  {
    title: '写笔记',
    shop: '店铺',
    choose: '选择店铺',
    change: '更换店铺',
    headline: '标题',
    content: '正文',
    count: (n, of) => `${n} / ${of}`,
    noShop: '请选择店铺。',
    noTitle: '请填写标题。',
    noContent: '请填写正文。',
    long: (n, of) => `${n} / ${of}，超出字数限制。`,
    go: '发布',
    waiting: '正在上传图片…',
    failed: '有图片未上传成功，请重试或移除。',
    offline: '网络已断开。笔记已保存在此标签页，恢复后即可发布。',
    published: '发布成功。',
    outcomeUnknown: '无法确认笔记是否已发布。',
    outcomeHint: '再次发布前请先查看你的笔记，以免重复发布。',
    viewNotes: '查看我的笔记',
    again: '再次发布',
    discard: '已发布，清空草稿',
  },
)

const longestTitle = 100
const longestContent = 2000

/** The form for a note about a shop. */
export function Publish() {
  const t = useTexts()
  const session = useSession()
  const userId = session?.userId ?? ''
  useEffect(() => open(userId), [userId])
  const draft = useDraft()
  return <Screen title={t.title}>{draft.userId === userId && <Form userId={userId} />}</Screen>
}

function Form({ userId }: { userId: string }) {
  const t = useTexts()
  const draft = useDraft()
  const { shop, title, content, pictures, doubt, sending } = draft
  const userErrorText = useUserErrorText()
  const network = useNetwork()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const [picking, setPicking] = useState(false)
  const [tried, setTried] = useState(false)
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const [waiting, setWaiting] = useState(false)
  const [publish] = useApiMutation(PublishNoteDocument, { toastErrors: false })
  const form = useRef<HTMLFormElement>(null)
  const mounted = useRef(true)
  useEffect(() => {
    mounted.current = true
    return () => {
      mounted.current = false
    }
  }, [])

  const shopParam = params.get('shop')
  const [{ data }] = useApiQuery({
    query: PickedShopDocument,
    variables: { id: shopParam ?? '' },
    requestPolicy: 'cache-first',
    pause: shopParam === null,
    refetchOnResume: false,
  })
  const linkedShop = shopParam === null ? null : data?.shop
  useEffect(() => {
    if (linkedShop)
      change({ shop: { id: linkedShop.id, name: linkedShop.name, area: linkedShop.area } })
  }, [linkedShop])

  const titleLength = textLength(title)
  const contentLength = textLength(content)
  const errors = {
    shop: shop === null ? t.noShop : undefined,
    title:
      titleLength === 0
        ? t.noTitle
        : titleLength > longestTitle
          ? t.long(titleLength, longestTitle)
          : undefined,
    content:
      contentLength === 0
        ? t.noContent
        : contentLength > longestContent
          ? t.long(contentLength, longestContent)
          : undefined,
  }
  const errorAt = (name: keyof typeof errors, field: string, always: boolean) => {
    const userError = userErrorFor(userErrors, field)
    if (userError) return userErrorText(userError)
    return tried || always ? errors[name] : undefined
  }
  const imagesRefused = userErrorFor(userErrors, 'images')
  const rest = userErrors.filter(
    ({ field }) => !field?.some((f) => ['shopId', 'title', 'content', 'images'].includes(f)),
  )

  /** Focuses an element after the next render. */
  const focusSoon = (selector: string) =>
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>(selector)?.focus())
  const submit = async (event?: FormEvent) => {
    event?.preventDefault()
    if (waiting || currentDraft().sending) return
    setTried(true)
    setUserErrors([])
    if (Object.values(errors).some(Boolean)) {
      focusSoon('[aria-invalid], [data-invalid]')
      return
    }
    setWaiting(true)
    await uploadsFinished()
    setWaiting(false)
    if (!mounted.current) return
    const now = currentDraft()
    if (now.pictures.some(({ failure }) => failure !== null)) {
      toast(t.failed)
      return
    }
    if (!navigator.onLine || now.shop === null) {
      toast(t.offline)
      return
    }
    change({ sending: true, doubt: true }) // set before sending, in case the page closes before the response
    const result = await publish({
      input: {
        shopId: now.shop.id,
        title: now.title.trim(),
        content: now.content.trim(),
        images: now.pictures.flatMap(({ url }) => (url === null ? [] : [url])),
      },
    })
    change({ sending: false })
    if (result.ok) {
      clear()
      toast(t.published)
      if (mounted.current) navigate(`/notes/${result.value.note?.id ?? ''}`, { replace: true })
      return
    }
    setUserErrors(result.userErrors)
    const outcomeUnknown = isOutcomeUnknown(result.error)
    change({ doubt: outcomeUnknown })
    // The pressed button is gone.
    if (outcomeUnknown) focusSoon('[data-doubt]')
    else if (result.userErrors.length > 0) focusSoon('[aria-invalid]')
  }

  return (
    <form ref={form} className={css.form} onSubmit={submit} noValidate>
      <div className={css.shop}>
        <h2 className={css.label}>{t.shop}</h2>
        {shop !== null && (
          <p className={css.picked}>
            <Store aria-hidden="true" size={22} />
            <span>
              <strong dir="auto">{shop.name}</strong> <bdi>{shop.area}</bdi>
            </span>
          </p>
        )}
        <Button
          kind="quiet"
          small={shop !== null}
          data-invalid={errorAt('shop', 'shopId', false) ? '' : undefined}
          onClick={() => setPicking(true)}
        >
          {shop === null ? t.choose : t.change}
        </Button>
        {errorAt('shop', 'shopId', false) && (
          <p role="alert" className={css.error}>
            {errorAt('shop', 'shopId', false)}
          </p>
        )}
      </div>
      {picking && (
        <ShopPicker
          onClose={() => setPicking(false)}
          onPick={(picked) => {
            setPicking(false)
            change({ shop: picked })
            if (shopParam !== null) setParams({}, { replace: true })
          }}
        />
      )}
      <Field
        label={t.headline}
        hint={t.count(titleLength, longestTitle)}
        error={errorAt('title', 'title', titleLength > longestTitle)}
        value={title}
        onChange={(event) => change({ title: event.target.value })}
      />
      <TextArea
        label={t.content}
        rows={8}
        hint={t.count(contentLength, longestContent)}
        error={errorAt('content', 'content', contentLength > longestContent)}
        value={content}
        onChange={(event) => change({ content: event.target.value })}
      />
      <Pictures pictures={pictures} error={imagesRefused && userErrorText(imagesRefused)} />
      {rest.map((userError) => (
        <p key={userError.code} role="alert" className={css.error}>
          {userErrorText(userError)}
        </p>
      ))}
      {network === 'offline' && <p className={css.notice}>{t.offline}</p>}
      {doubt && !waiting && !sending ? (
        <div className={css.doubt} role="alert" tabIndex={-1} data-doubt>
          <p>
            <strong>{t.outcomeUnknown}</strong>
          </p>
          <p>{t.outcomeHint}</p>
          <div className={css.answers}>
            <ButtonLink href={`/users/${userId}`}>{t.viewNotes}</ButtonLink>
            <Button kind="quiet" onClick={() => void submit()}>
              {t.again}
            </Button>
            <Button kind="plain" onClick={clear}>
              {t.discard}
            </Button>
          </div>
        </div>
      ) : (
        <Button type="submit" wide busy={waiting || sending}>
          {waiting && pending(draft) ? t.waiting : t.go}
        </Button>
      )}
    </form>
  )
}
