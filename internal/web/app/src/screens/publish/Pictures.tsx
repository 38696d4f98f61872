import { ArrowLeft, ArrowRight, ImagePlus, X } from 'lucide-react'

import { useRequestErrorText, useUserErrorText } from '@/api/errors'
import { texts } from '@/i18n/texts'
import { Button, IconButton } from '@/ui/Button'
import { toast } from '@/ui/toast'

import { add, maxPictures, move, remove, retry, type DraftPicture } from './draft'
import css from './Publish.module.css'

const useTexts = texts(
  {
    pictures: 'Photos',
    add: 'Add photos',
    hint: (n: number) => `${n} of ${maxPictures}. The first is the cover.`,
    tooMany: `You can add up to ${maxPictures} photos.`,
    picture: (n: number) => `Photo ${n}`,
    sending: (n: number) => `Uploading photo ${n}`,
    earlier: (n: number) => `Move photo ${n} earlier`,
    later: (n: number) => `Move photo ${n} later`,
    remove: (n: number) => `Remove photo ${n}`,
    retry: 'Retry',
    failed: 'Upload failed.',
  },
  {
    pictures: '图片',
    add: '添加图片',
    hint: (n) => `${n} / ${maxPictures} 张，第一张为封面。`,
    tooMany: `最多添加 ${maxPictures} 张图片。`,
    picture: (n) => `第 ${n} 张图片`,
    sending: (n) => `正在上传第 ${n} 张图片`,
    earlier: (n) => `前移第 ${n} 张图片`,
    later: (n) => `后移第 ${n} 张图片`,
    remove: (n) => `移除第 ${n} 张图片`,
    retry: '重试',
    failed: '上传失败。',
  },
)

/** The pictures of a draft, with upload progress. */
export function Pictures({
  pictures,
  error,
}: {
  pictures: readonly DraftPicture[]
  error: string | undefined
}) {
  const t = useTexts()
  return (
    <fieldset className={css.pictures}>
      <legend>{t.pictures}</legend>
      <p className={css.hint}>{t.hint(pictures.length)}</p>
      {error !== undefined && (
        <p role="alert" className={css.error}>
          {error}
        </p>
      )}
      <ul className={css.grid}>
        {pictures.map((picture, i) => (
          <li key={picture.key} data-picture={stateOf(picture)}>
            <PictureItem picture={picture} n={i + 1} of={pictures.length} />
          </li>
        ))}
        {pictures.length < maxPictures && (
          <li>
            <label className={css.add}>
              <input
                type="file"
                className="visually-hidden"
                multiple
                accept="image/jpeg,image/png,image/webp"
                onChange={({ currentTarget }) => {
                  if (!add([...(currentTarget.files ?? [])])) toast(t.tooMany)
                  currentTarget.value = '' // allows choosing the same file again
                }}
              />
              <ImagePlus aria-hidden="true" size={28} />
              {t.add}
            </label>
          </li>
        )}
      </ul>
    </fieldset>
  )
}

/** The pressed button disappears with its picture. Focus the neighbouring picture. */
function focusNeighbour(button: HTMLElement): void {
  const item = button.closest('li')
  const neighbour = item?.nextElementSibling ?? item?.previousElementSibling
  neighbour?.querySelector<HTMLElement>('[data-remove], input')?.focus()
}

function stateOf({ url, failure }: DraftPicture): 'done' | 'failed' | 'sending' {
  if (url !== null) return 'done'
  return failure === null ? 'sending' : 'failed'
}

function PictureItem({ picture, n, of }: { picture: DraftPicture; n: number; of: number }) {
  const t = useTexts()
  const requestErrorText = useRequestErrorText()
  const userErrorText = useUserErrorText()
  const { failure } = picture
  const why =
    failure?.userError !== undefined
      ? userErrorText(failure.userError)
      : failure?.error !== undefined
        ? requestErrorText(failure.error)
        : t.failed
  return (
    <>
      <div className={css.thumb}>
        {picture.preview !== null && <img src={picture.preview} alt={t.picture(n)} />}
        {stateOf(picture) === 'sending' && (
          <progress aria-label={t.sending(n)} max={1} value={picture.progress} />
        )}
        {failure !== null && (
          <div className={css.failed} role="alert">
            <p>{why}</p>
            <Button kind="quiet" small onClick={() => retry(picture.key)}>
              {t.retry}
            </Button>
          </div>
        )}
      </div>
      <div className={css.tools}>
        <IconButton label={t.earlier(n)} disabled={n === 1} onClick={() => move(picture.key, -1)}>
          <ArrowLeft aria-hidden="true" size={20} />
        </IconButton>
        <IconButton label={t.later(n)} disabled={n === of} onClick={() => move(picture.key, 1)}>
          <ArrowRight aria-hidden="true" size={20} />
        </IconButton>
        <IconButton
          label={t.remove(n)}
          data-remove=""
          onClick={({ currentTarget }) => {
            focusNeighbour(currentTarget)
            remove(picture.key)
          }}
        >
          <X aria-hidden="true" size={20} />
        </IconButton>
      </div>
    </>
  )
}
