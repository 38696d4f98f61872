import { ImagePlus, LocateFixed, MoveLeft, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'

import type { Refusal } from '@/api/errors'
import { useAsk } from '@/api/useAsk'
import { useDo } from '@/api/useDo'
import { AmountField } from '@/forms/AmountField'
import { Form, Row, useErrorAt, wrong } from '@/forms/Form'
import { useUpload } from '@/forms/upload'
import { degreesOf, minorOf, textOf, yuanOf } from '@/forms/written'
import { texts } from '@/i18n/texts'
import { useTypeName } from '@/shops/typeNames'
import { ShopTypesDocument } from '@/shops/types.gql'
import { Button, IconButton } from '@/ui/Button'
import { Field, Labelled } from '@/ui/Field'
import { lengthOf } from '@/ui/graphemes'
import { Picture } from '@/ui/Picture'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Empty, Failed } from '@/ui/State'
import { toast } from '@/ui/toast'

import {
  CreateShopDocument,
  ShopFormDocument,
  UpdateShopDocument,
  type ShopFormFragment,
} from './edit-shop.gql'
import css from './EditShop.module.css'
import { ForRole } from './ForRole'

const useTexts = texts(
  {
    newTitle: 'New shop',
    editTitle: 'Edit shop',
    gone: 'There is no such shop.',
    pictures: 'Pictures',
    picturesHint: 'Up to 9. The first one stands in lists.',
    add: 'Add pictures',
    uploading: 'Uploading a picture',
    remove: (n: number) => `Remove picture ${n}`,
    first: (n: number) => `Move picture ${n} to the front`,
    picture: (n: number) => `Picture ${n}`,
    name: 'Name',
    nameBounds: '1 to 120 characters.',
    type: 'Kind',
    choose: 'Please choose',
    typeBounds: 'A shop needs a kind.',
    area: 'Quarter',
    areaBounds: 'At most 80 characters.',
    address: 'Address',
    addressBounds: 'Street and number, at most 255 characters.',
    lat: 'Latitude',
    lng: 'Longitude',
    latBounds: '-85.05 to 85.05 degrees.',
    lngBounds: '-180 to 180 degrees.',
    here: 'Use my position',
    noPosition: 'The browser does not say where you are. Please enter it.',
    price: 'Average spend a person, in yuan',
    priceBounds: 'An amount from 0 to 1,000,000.',
    hours: 'Opening hours',
    hoursHint: 'As people write it, such as Mon–Sun 10:00–22:00.',
    hoursBounds: 'At most 120 characters.',
    create: 'Open the shop',
    save: 'Save',
    saved: 'Saved.',
    created: 'Your shop can be found now.',
  },
  {
    newTitle: '新建店铺',
    editTitle: '编辑店铺',
    gone: '店铺不存在。',
    pictures: '图片',
    picturesHint: '最多 9 张，第一张为封面。',
    add: '添加图片',
    uploading: '正在上传图片',
    remove: (n) => `移除第 ${n} 张图片`,
    first: (n) => `将第 ${n} 张图片设为封面`,
    picture: (n) => `第 ${n} 张图片`,
    name: '店名',
    nameBounds: '1 到 120 个字符。',
    type: '分类',
    choose: '请选择',
    typeBounds: '请选择店铺分类。',
    area: '商圈',
    areaBounds: '最多 80 个字符。',
    address: '地址',
    addressBounds: '街道与门牌号，最多 255 个字符。',
    lat: '纬度',
    lng: '经度',
    latBounds: '-85.05 到 85.05 度。',
    lngBounds: '-180 到 180 度。',
    here: '使用当前位置',
    noPosition: '浏览器无法获取位置，请手动填写。',
    price: '人均消费（元）',
    priceBounds: '0 到 1,000,000 之间的金额。',
    hours: '营业时间',
    hoursHint: '例如：周一至周日 10:00–22:00。',
    hoursBounds: '最多 120 个字符。',
    create: '创建店铺',
    save: '保存',
    saved: '已保存。',
    created: '店铺已创建，顾客现在可以搜到。',
  },
)

/** A shop that somebody opens. */
export function NewShop() {
  const t = useTexts()
  return (
    <Screen title={t.newTitle} up="/merchant">
      <ForRole role="MERCHANT">
        <ShopForm shop={null} />
      </ForRole>
    </Screen>
  )
}

/** What a shop says of itself. */
export function EditShop({ id }: { id: string }) {
  const t = useTexts()
  // What is typed must not be replaced by what comes later.
  const [{ data, error }, ask] = useAsk({
    query: ShopFormDocument,
    variables: { id },
    requestPolicy: 'network-only',
    catchUp: false,
  })
  return (
    <Screen title={t.editTitle} up={`/merchant/shops/${id}`}>
      <ForRole role="MERCHANT">
        {data?.shop ? (
          <ShopForm shop={data.shop} />
        ) : error ? (
          <Failed error={error} again={() => ask({ requestPolicy: 'network-only' })} />
        ) : data ? (
          <Empty title={t.gone} />
        ) : (
          <Skeleton shape="text" count={5} />
        )}
      </ForRole>
    </Screen>
  )
}

const most = 9 // pictures
const fields = [
  'images',
  'name',
  'typeId',
  'area',
  'address',
  'lat',
  'lng',
  'avgPrice',
  'openHours',
]

function ShopForm({ shop }: { shop: ShopFormFragment | null }) {
  const t = useTexts()
  const typeName = useTypeName()
  const [, navigate] = useLocation()
  const [{ data: types }] = useAsk({
    query: ShopTypesDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })
  const [create, creating] = useDo(CreateShopDocument, { say: false })
  const [update, updating] = useDo(UpdateShopDocument, { say: false })
  const [refusals, setRefusals] = useState<readonly Refusal[]>([])
  const errorAt = useErrorAt(refusals)

  const [was] = useState(() => written(shop))
  const [images, setImages] = useState<readonly Kept[]>(was.images)
  const [uploading, setUploading] = useState(false)
  const [name, setName] = useState(was.name)
  const [typeId, setTypeId] = useState(was.typeId)
  const [area, setArea] = useState(was.area)
  const [address, setAddress] = useState(was.address)
  const [lat, setLat] = useState(was.lat)
  const [lng, setLng] = useState(was.lng)
  const [price, setPrice] = useState(was.price)
  const [hours, setHours] = useState(was.hours)

  const save = async () => {
    const input = {
      name: name.trim(),
      typeId,
      images: images.map(({ url }) => url),
      area: textOf(area),
      address: address.trim(),
      location: { lat: degreesOf(lat) ?? 0, lng: degreesOf(lng) ?? 0 },
      avgPrice: textOf(price) === null ? null : minorOf(price),
      openHours: textOf(hours),
    }
    // An import stores shops that the form would not: what nobody touched is neither checked nor sent.
    const isNew = shop === null
    const touched = {
      name: isNew || name !== was.name,
      typeId: isNew || typeId !== was.typeId,
      images: isNew || String(input.images) !== String(was.images.map(({ url }) => url)),
      area: isNew || area !== was.area,
      address: isNew || address !== was.address,
      location: isNew || lat !== was.lat || lng !== was.lng,
      avgPrice: isNew || price !== was.price,
      openHours: isNew || hours !== was.hours,
    }
    const seen = [
      touched.name && !fits(name, 1, 120) && wrong('name'),
      touched.typeId && typeId === '' && wrong('typeId'),
      touched.area && !fits(area, 0, 80) && wrong('area'),
      touched.address && !fits(address, 1, 255) && wrong('address'),
      (isNew || lat !== was.lat) && !within(degreesOf(lat), 85.05) && wrong('lat'),
      (isNew || lng !== was.lng) && !within(degreesOf(lng), 180) && wrong('lng'),
      touched.avgPrice &&
        textOf(price) !== null &&
        !within(input.avgPrice, mostPrice) &&
        wrong('avgPrice'),
      touched.openHours && !fits(hours, 0, 120) && wrong('openHours'),
    ].filter((one) => one !== false)
    setRefusals(seen)
    if (seen.length > 0) return

    const names = Object.keys(touched) as (keyof typeof touched)[]
    const changes = Object.fromEntries(
      names.filter((one) => touched[one]).map((one) => [one, input[one]]),
    )
    const done = isNew
      ? await create({ input })
      : await update({ input: { ...changes, id: shop.id } })
    setRefusals(done.ok ? [] : done.refusals)
    const saved = done.ok ? done.value.shop : null
    if (saved === null) return
    toast(shop === null ? t.created : t.saved)
    navigate(`/merchant/shops/${saved.id}`, { replace: true })
  }

  const known = types?.shopTypes ?? []
  const own = shop === null || known.some(({ id }) => id === shop.type.id) ? [] : [shop.type]
  const offered = [...own, ...known]

  const failed = () => toast(t.noPosition)
  const locate = () => {
    // Where the page is not served over https there is none.
    if (!('geolocation' in navigator)) {
      failed()
      return
    }
    navigator.geolocation.getCurrentPosition(({ coords }) => {
      setLat(coords.latitude.toFixed(6))
      setLng(coords.longitude.toFixed(6))
    }, failed)
  }

  return (
    <Form
      label={shop === null ? t.newTitle : t.editTitle}
      refusals={refusals}
      fields={fields}
      onSubmit={() => void save()}
    >
      <Field
        label={t.name}
        error={errorAt('name', t.nameBounds)}
        longest={120}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Labelled label={t.type} error={errorAt('typeId', t.typeBounds)}>
        {(given) => (
          <select {...given} value={typeId} onChange={(event) => setTypeId(event.target.value)}>
            <option value="">{t.choose}</option>
            {offered.map((type) => (
              <option key={type.id} value={type.id} dir="auto">
                {typeName(type.name)}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <Pictures
        images={images}
        setImages={setImages}
        error={errorAt('images')}
        onBusy={setUploading}
      />
      <Row>
        <Field
          label={t.address}
          error={errorAt('address', t.addressBounds)}
          longest={255}
          autoComplete="off"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        <Field
          label={t.area}
          error={errorAt('area', t.areaBounds)}
          longest={80}
          value={area}
          onChange={(event) => setArea(event.target.value)}
        />
      </Row>
      <div className={css.position}>
        <Row>
          <Field
            label={t.lat}
            error={errorAt('lat', t.latBounds)}
            inputMode="text"
            autoComplete="off"
            value={lat}
            onChange={(event) => setLat(event.target.value)}
          />
          <Field
            label={t.lng}
            error={errorAt('lng', t.lngBounds)}
            inputMode="text"
            autoComplete="off"
            value={lng}
            onChange={(event) => setLng(event.target.value)}
          />
        </Row>
        <Button kind="quiet" small onClick={locate}>
          <LocateFixed aria-hidden="true" size={18} /> {t.here}
        </Button>
      </div>
      <AmountField
        label={t.price}
        error={errorAt('avgPrice', t.priceBounds)}
        value={price}
        onChange={setPrice}
      />
      <Field
        label={t.hours}
        hint={t.hoursHint}
        error={errorAt('openHours', t.hoursBounds)}
        longest={120}
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
      <Button type="submit" wide busy={creating || updating || uploading}>
        {shop === null ? t.create : t.save}
      </Button>
    </Form>
  )
}

const mostPrice = 100_000_000 // fen

/** What the fields show of a shop, before anybody types. */
function written(shop: ShopFormFragment | null) {
  return {
    images: shop?.images ?? [],
    name: shop?.name ?? '',
    typeId: shop?.type.id ?? '',
    area: shop?.area ?? '',
    address: shop?.address ?? '',
    lat: shop === null ? '' : String(shop.location.lat),
    lng: shop === null ? '' : String(shop.location.lng),
    price: yuanOf(shop?.avgPrice ?? null),
    hours: shop?.openHours ?? '',
  }
}

/** Whether a text has as many characters as the API takes. */
function fits(text: string, least: number, longest: number): boolean {
  const n = lengthOf(text)
  return n >= least && n <= longest
}

/** Whether there is a number, not farther than this from nought. */
function within(n: number | null, far: number): boolean {
  return n !== null && Math.abs(n) <= far
}

interface Kept {
  readonly url: string
  readonly thumbnailUrl: string
}

interface PicturesProps {
  readonly images: readonly Kept[]
  readonly setImages: (change: (before: readonly Kept[]) => readonly Kept[]) => void
  readonly error: string | undefined
  readonly onBusy: (busy: boolean) => void
}

function Pictures({ images, setImages, error, onBusy }: PicturesProps) {
  const t = useTexts()
  const [upload, progress] = useUpload()
  const [busy, setBusy] = useState(false) // also between two
  const file = useRef<HTMLInputElement>(null)
  const add = async (files: readonly File[]) => {
    if (file.current) file.current.value = ''
    setBusy(true)
    onBusy(true)
    for (const one of files.slice(0, most - images.length)) {
      // One after the other: they arrive in the order in which they were chosen.
      // oxlint-disable-next-line no-await-in-loop
      const image = await upload(one)
      if (image) {
        setImages((before) =>
          before.some(({ url }) => url === image.url) ? before : [...before, image],
        )
      }
    }
    setBusy(false)
    onBusy(false)
  }
  return (
    <fieldset className={css.pictures}>
      <legend>{t.pictures}</legend>
      <p className={css.hint}>{t.picturesHint}</p>
      <ul>
        {images.map(({ url, thumbnailUrl }, i) => (
          <li key={url}>
            <Picture src={thumbnailUrl} alt={t.picture(i + 1)} ratio={1} />
            <div className={css.tools}>
              {i > 0 && (
                <IconButton
                  label={t.first(i + 1)}
                  onClick={() =>
                    setImages((before) => [
                      ...before.filter((one) => one.url === url),
                      ...before.filter((one) => one.url !== url),
                    ])
                  }
                >
                  <MoveLeft aria-hidden="true" size={18} />
                </IconButton>
              )}
              <IconButton
                label={t.remove(i + 1)}
                onClick={() => setImages((before) => before.filter((one) => one.url !== url))}
              >
                <Trash2 aria-hidden="true" size={18} />
              </IconButton>
            </div>
          </li>
        ))}
      </ul>
      <input
        ref={file}
        type="file"
        hidden
        multiple
        accept="image/jpeg,image/png,image/webp"
        aria-label={t.add}
        data-input="pictures"
        onChange={(event) => void add([...(event.target.files ?? [])])}
      />
      {images.length < most && (
        <Button kind="quiet" small busy={busy} onClick={() => file.current?.click()}>
          {!busy && <ImagePlus aria-hidden="true" size={18} />} {t.add}
        </Button>
      )}
      {progress !== null && <progress aria-label={t.uploading} max={1} value={progress} />}
      {error && (
        <p role="alert" className={css.error}>
          {error}
        </p>
      )}
    </fieldset>
  )
}
