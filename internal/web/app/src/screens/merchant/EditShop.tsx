import { ImagePlus, LocateFixed, MoveLeft, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'

import type { UserError } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { AmountField } from '@/forms/AmountField'
import { Form, Row, useFieldErrors, invalidField } from '@/forms/Form'
import { useUpload } from '@/forms/useUpload'
import { parseDegrees, parseMinor, trimToNull, formatYuan } from '@/forms/fieldFormat'
import { texts } from '@/i18n/texts'
import { useTypeName } from '@/shops/typeNames'
import { ShopTypesDocument } from '@/shops/types.gql'
import { useHoursTexts } from '@/shops/useHoursTexts'
import { Button, IconButton } from '@/ui/Button'
import { Field, Labelled } from '@/ui/Field'
import { textLength } from '@/ui/graphemes'
import { Picture } from '@/ui/Picture'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import {
  CreateShopDocument,
  ShopFormDocument,
  UpdateShopDocument,
  type ShopFormFragment,
} from './edit-shop.gql'
import css from './EditShop.module.css'
import { RequireRole } from './RequireRole'

const useTexts = texts(
  {
    newTitle: 'New shop',
    editTitle: 'Edit shop',
    notFound: 'This shop doesn’t exist.',
    pictures: 'Photos',
    picturesHint: 'Up to 9. The first is the cover.',
    add: 'Add photos',
    uploading: 'Uploading photo',
    remove: (n: number) => `Remove photo ${n}`,
    first: (n: number) => `Make photo ${n} the cover`,
    picture: (n: number) => `Photo ${n}`,
    name: 'Shop name',
    nameBounds: 'Enter 1 to 120 characters.',
    type: 'Category',
    choose: 'Choose a category',
    typeBounds: 'Choose a category.',
    area: 'Neighbourhood',
    areaBounds: 'Use at most 80 characters.',
    address: 'Address',
    addressBounds: 'Enter the street and number, at most 255 characters.',
    lat: 'Latitude',
    lng: 'Longitude',
    latBounds: 'Enter degrees from -85.05 to 85.05.',
    lngBounds: 'Enter degrees from -180 to 180.',
    here: 'Use my location',
    noPosition: 'We couldn’t get your location. Enter the coordinates instead.',
    price: 'Average spend per person (¥)',
    priceBounds: 'Enter an amount from 0 to 1,000,000.',
    hours: 'Opening hours',
    hoursHint: 'e.g. Mo-Fr 08:00-22:00; Sa,Su 09:00-23:00',
    hoursRead: (hours: string) => `Shown as: ${hours}`,
    hoursText: 'Shown as you wrote it. For “Open now”, write e.g. Mo-Fr 08:00-22:00.',
    hoursBounds: 'Use at most 250 characters.',
    zone: 'Time zone',
    zoneHint: 'e.g. Asia/Shanghai. Empty is the server’s zone.',
    zoneBounds: 'Enter a time zone such as Asia/Shanghai.',
    phone: 'Phone',
    phoneBounds: 'Use at most 40 characters.',
    website: 'Website',
    websiteBounds: 'Enter an address such as https://example.com.',
    create: 'Create shop',
    save: 'Save',
    saved: 'Saved.',
    created: 'Your shop is live.',
  },
  {
    newTitle: '新建店铺',
    editTitle: '编辑店铺',
    notFound: '店铺不存在。',
    pictures: '图片',
    picturesHint: '最多 9 张，第一张为封面。',
    add: '添加图片',
    uploading: '正在上传图片',
    remove: (n) => `移除第 ${n} 张图片`,
    first: (n) => `将第 ${n} 张图片设为封面`,
    picture: (n) => `第 ${n} 张图片`,
    name: '店铺名称',
    nameBounds: '请输入 1 到 120 个字符。',
    type: '分类',
    choose: '请选择',
    typeBounds: '请选择分类。',
    area: '商圈',
    areaBounds: '最多 80 个字符。',
    address: '地址',
    addressBounds: '请输入街道与门牌号，最多 255 个字符。',
    lat: '纬度',
    lng: '经度',
    latBounds: '请输入 -85.05 到 85.05 之间的度数。',
    lngBounds: '请输入 -180 到 180 之间的度数。',
    here: '使用当前位置',
    noPosition: '无法获取你的位置，请手动填写经纬度。',
    price: '人均消费（元）',
    priceBounds: '请输入 0 到 1,000,000 之间的金额。',
    hours: '营业时间',
    hoursHint: '例如：Mo-Fr 08:00-22:00; Sa,Su 09:00-23:00',
    hoursRead: (hours) => `显示为：${hours}`,
    hoursText: '按原文显示。如需显示“营业中”，请按此格式填写：Mo-Fr 08:00-22:00',
    hoursBounds: '最多 250 个字符。',
    zone: '时区',
    zoneHint: '例如 Asia/Shanghai，留空则使用服务器时区。',
    zoneBounds: '请输入时区，例如 Asia/Shanghai。',
    phone: '电话',
    phoneBounds: '最多 40 个字符。',
    website: '网站',
    websiteBounds: '请输入网址，例如 https://example.com。',
    create: '创建店铺',
    save: '保存',
    saved: '已保存。',
    created: '店铺已创建，顾客现在可以找到它。',
  },
)

/** The form for a new shop. */
export function NewShop() {
  const t = useTexts()
  return (
    <Screen title={t.newTitle} backTo="/merchant">
      <RequireRole role="MERCHANT">
        <ShopForm shop={null} />
      </RequireRole>
    </Screen>
  )
}

/** The form for an existing shop. */
export function EditShop({ id }: { id: string }) {
  const t = useTexts()
  // A refetch must not replace the user's input.
  const [{ data, error }, refetch] = useApiQuery({
    query: ShopFormDocument,
    variables: { id },
    requestPolicy: 'network-only',
    refetchOnResume: false,
  })
  return (
    <Screen title={t.editTitle} backTo={`/merchant/shops/${id}`}>
      <RequireRole role="MERCHANT">
        {data?.shop ? (
          <ShopForm shop={data.shop} />
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : data ? (
          <EmptyState title={t.notFound} />
        ) : (
          <Skeleton shape="text" count={5} />
        )}
      </RequireRole>
    </Screen>
  )
}

const maxPictures = 9 // pictures
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
  'timeZone',
  'phone',
  'website',
]

function ShopForm({ shop }: { shop: ShopFormFragment | null }) {
  const t = useTexts()
  const typeName = useTypeName()
  const [, navigate] = useLocation()
  const [{ data: types }] = useApiQuery({
    query: ShopTypesDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })
  const [create, creating] = useApiMutation(CreateShopDocument, { toastErrors: false })
  const [update, updating] = useApiMutation(UpdateShopDocument, { toastErrors: false })
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const errorAt = useFieldErrors(userErrors)

  const [initial] = useState(() => fieldValues(shop))
  const [images, setImages] = useState<readonly ShopImage[]>(initial.images)
  const [uploading, setUploading] = useState(false)
  const [name, setName] = useState(initial.name)
  const [typeId, setTypeId] = useState(initial.typeId)
  const [area, setArea] = useState(initial.area)
  const [address, setAddress] = useState(initial.address)
  const [lat, setLat] = useState(initial.lat)
  const [lng, setLng] = useState(initial.lng)
  const [price, setPrice] = useState(initial.price)
  const [hours, setHours] = useState(initial.hours)
  const [timeZone, setTimeZone] = useState(initial.timeZone)
  const [phone, setPhone] = useState(initial.phone)
  const [website, setWebsite] = useState(initial.website)
  const describeHours = useHoursDescription()

  const save = async () => {
    const input = {
      name: name.trim(),
      typeId,
      images: images.map(({ url }) => url),
      area: trimToNull(area),
      address: address.trim(),
      location: { lat: parseDegrees(lat) ?? 0, lng: parseDegrees(lng) ?? 0 },
      avgPrice: trimToNull(price) === null ? null : parseMinor(price),
      openHours: trimToNull(hours),
      timeZone: trimToNull(timeZone),
      phone: trimToNull(phone),
      website: withScheme(website),
    }
    // Imported shops may not meet the form's rules. Only changed fields are checked and sent.
    const isNew = shop === null
    const touched = {
      name: isNew || name !== initial.name,
      typeId: isNew || typeId !== initial.typeId,
      images: isNew || String(input.images) !== String(initial.images.map(({ url }) => url)),
      area: isNew || area !== initial.area,
      address: isNew || address !== initial.address,
      location: isNew || lat !== initial.lat || lng !== initial.lng,
      avgPrice: isNew || price !== initial.price,
      openHours: isNew || hours !== initial.hours,
      timeZone: isNew || timeZone !== initial.timeZone,
      phone: isNew || phone !== initial.phone,
      website: isNew || website !== initial.website,
    }
    const invalid = [
      touched.name && !fits(name, 1, 120) && invalidField('name'),
      touched.typeId && typeId === '' && invalidField('typeId'),
      touched.area && !fits(area, 0, 80) && invalidField('area'),
      touched.address && !fits(address, 1, 255) && invalidField('address'),
      (isNew || lat !== initial.lat) && !within(parseDegrees(lat), 85.05) && invalidField('lat'),
      (isNew || lng !== initial.lng) && !within(parseDegrees(lng), 180) && invalidField('lng'),
      touched.avgPrice &&
        trimToNull(price) !== null &&
        !within(input.avgPrice, maxPrice) &&
        invalidField('avgPrice'),
      touched.openHours && !fits(hours, 0, 250) && invalidField('openHours'),
      touched.phone && !fits(phone, 0, 40) && invalidField('phone'),
      touched.website && !fits(website, 0, 300) && invalidField('website'),
    ].filter((one) => one !== false)
    setUserErrors(invalid)
    if (invalid.length > 0) return

    const names = Object.keys(touched) as (keyof typeof touched)[]
    const changes = Object.fromEntries(
      names.filter((one) => touched[one]).map((one) => [one, input[one]]),
    )
    const result = isNew
      ? await create({ input })
      : await update({ input: { ...changes, id: shop.id } })
    setUserErrors(result.ok ? [] : result.userErrors)
    const saved = result.ok ? result.value.shop : null
    if (saved === null) return
    const said = touched.openHours ? describeHours(saved) : undefined
    toast([shop === null ? t.created : t.saved, said].filter(Boolean).join(' '))
    navigate(`/merchant/shops/${saved.id}`, { replace: true })
  }

  const known = types?.shopTypes ?? []
  const customType = shop === null || known.some(({ id }) => id === shop.type.id) ? [] : [shop.type]
  const offered = [...customType, ...known]

  const failed = () => toast(t.noPosition)
  const locate = () => {
    // Browsers share positions only on secure origins.
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
      userErrors={userErrors}
      fields={fields}
      onSubmit={() => void save()}
    >
      <Field
        label={t.name}
        error={errorAt('name', t.nameBounds)}
        limit={120}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Labelled label={t.type} error={errorAt('typeId', t.typeBounds)}>
        {(inputProps) => (
          <select
            {...inputProps}
            value={typeId}
            onChange={(event) => setTypeId(event.target.value)}
          >
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
          limit={255}
          autoComplete="off"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        <Field
          label={t.area}
          error={errorAt('area', t.areaBounds)}
          limit={80}
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
        hint={(shop !== null && hours === initial.hours && describeHours(shop)) || t.hoursHint}
        error={errorAt('openHours', t.hoursBounds)}
        limit={250}
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
      <Field
        label={t.zone}
        hint={t.zoneHint}
        error={errorAt('timeZone', t.zoneBounds)}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={timeZone}
        onChange={(event) => setTimeZone(event.target.value)}
      />
      <Row>
        <Field
          label={t.phone}
          type="tel"
          error={errorAt('phone', t.phoneBounds)}
          limit={40}
          autoComplete="off"
          value={phone}
          onChange={(event) => setPhone(event.target.value)}
        />
        <Field
          label={t.website}
          inputMode="url"
          dir="ltr"
          error={errorAt('website', t.websiteBounds)}
          limit={300}
          autoComplete="off"
          autoCapitalize="off"
          value={website}
          onChange={(event) => setWebsite(event.target.value)}
        />
      </Row>
      <Button type="submit" wide busy={creating || updating || uploading}>
        {shop === null ? t.create : t.save}
      </Button>
    </Form>
  )
}

const maxPrice = 100_000_000 // fen

/** Returns the initial field values. */
function fieldValues(shop: ShopFormFragment | null) {
  return {
    images: shop?.images ?? [],
    name: shop?.name ?? '',
    typeId: shop?.type.id ?? '',
    area: shop?.area ?? '',
    address: shop?.address ?? '',
    lat: shop === null ? '' : String(shop.location.lat),
    lng: shop === null ? '' : String(shop.location.lng),
    price: formatYuan(shop?.avgPrice ?? null),
    hours: shop?.openHours ?? '',
    timeZone: shop?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    phone: shop?.phone ?? '',
    website: shop?.website ?? '',
  }
}

/** Returns a function that describes how the hours of a shop are shown: undefined without hours. */
function useHoursDescription(): (
  shop: Pick<ShopFormFragment, 'hours' | 'openHours'>,
) => string | undefined {
  const t = useTexts()
  const hoursTexts = useHoursTexts()
  return ({ hours, openHours }) =>
    hours !== null
      ? t.hoursRead(hoursTexts.week(hours.week))
      : openHours === null
        ? undefined
        : t.hoursText
}

/** Returns the URL of a website that may lack its scheme; null if it is empty. */
function withScheme(website: string): string | null {
  const text = trimToNull(website)
  return text === null || /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `https://${text}`
}

/** Reports whether a text has `min` to `max` characters. */
function fits(text: string, min: number, max: number): boolean {
  const n = textLength(text)
  return n >= min && n <= max
}

/** Reports whether |n| is at most `limit`. */
function within(n: number | null, limit: number): boolean {
  return n !== null && Math.abs(n) <= limit
}

interface ShopImage {
  readonly url: string
  readonly thumbnailUrl: string
}

interface PicturesProps {
  readonly images: readonly ShopImage[]
  readonly setImages: (change: (before: readonly ShopImage[]) => readonly ShopImage[]) => void
  readonly error: string | undefined
  readonly onBusy: (busy: boolean) => void
}

function Pictures({ images, setImages, error, onBusy }: PicturesProps) {
  const t = useTexts()
  const [upload, progress] = useUpload()
  const [busy, setBusy] = useState(false) // also between two uploads
  const file = useRef<HTMLInputElement>(null)
  const add = async (files: readonly File[]) => {
    if (file.current) file.current.value = ''
    setBusy(true)
    onBusy(true)
    for (const one of files.slice(0, maxPictures - images.length)) {
      // One at a time, to preserve the chosen order.
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
      {images.length < maxPictures && (
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
