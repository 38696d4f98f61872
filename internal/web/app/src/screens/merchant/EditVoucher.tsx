import { useState, type ReactNode } from 'react'
import { useLocation } from 'wouter'

import type { UserError } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { userErrorFor, useApiMutation } from '@/api/useApiMutation'
import { AmountField } from '@/forms/AmountField'
import { isOutcomeUnknown } from '@/forms/outcomeUnknown'
import { Form, Row, useFieldErrors, invalidField } from '@/forms/Form'
import {
  toLocalInput,
  parseMinor,
  fromLocalInput,
  trimToNull,
  parseInteger,
} from '@/forms/fieldFormat'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useOnResume } from '@/live/network'
import { Button, ButtonLink } from '@/ui/Button'
import { TextArea, Field } from '@/ui/Field'
import { textLength } from '@/ui/graphemes'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import {
  CreateFlashVoucherDocument,
  CreateVoucherDocument,
  UpdateFlashVoucherDocument,
  UpdateVoucherDocument,
  VoucherFormDocument,
  VoucherFormShopDocument,
  type VoucherFormFragment,
} from './edit-voucher.gql'
import css from './EditVoucher.module.css'
import { RequireRole } from './RequireRole'

const useTexts = texts(
  {
    newTitle: 'New voucher',
    editTitle: 'Edit voucher',
    notFound: 'This voucher doesn’t exist.',
    kind: 'Type',
    regular: 'Regular voucher',
    regularWhy: 'Unlimited stock, on sale until you stop selling it.',
    flash: 'Flash sale',
    flashWhy: 'Limited stock and time, 1 per customer.',
    title: 'Title',
    titleBounds: 'Enter 1 to 120 characters.',
    subTitle: 'Subtitle',
    subTitleBounds: 'Use at most 200 characters.',
    rules: 'Terms of use',
    rulesHint: 'e.g. when it’s valid, whether it can be combined',
    rulesBounds: 'Use at most 2000 characters.',
    pay: 'Price (¥)',
    payBounds: 'Enter an amount from 0.01 to 1,000,000.',
    face: 'Value (¥)',
    faceBounds: 'Enter an amount no lower than the price, up to 1,000,000.',
    fixed: 'You can’t change the price or value later.',
    onePerUser: 'Limit 1 per customer',
    stock: 'Stock',
    stockBounds: 'Enter a number from 1 to 1,000,000.',
    begins: 'Starts',
    beginsBounds: 'Choose a time at most 366 days from now.',
    ends: 'Ends',
    endsBounds: 'Choose a future time, at most 366 days after the start.',
    zone: (name: string) => `Times are in your browser’s time zone: ${name}.`,
    create: 'Create voucher',
    created: 'Voucher created.',
    outcomeUnknown: 'We couldn’t confirm that your voucher was created.',
    outcomeHint: 'Check your shop before you try again, so you don’t create it twice.',
    viewShop: 'View shop',
    onSale: 'On sale',
    onSaleWhy: 'Turn this off to stop selling. Existing orders stay valid.',
    save: 'Save',
    saved: 'Saved.',
    price: (pay: string, face: string) => `${pay}, ${face} value`,
    left: (n: string, all: string) => `${n} of ${all} left`,
    delta: 'Adjust stock',
    deltaHint: 'e.g. 50 or -10. Leave empty for no change.',
    deltaUnknown: 'We couldn’t confirm that the stock was changed.',
    deltaUnknownHint: 'Check the current stock before you change it again.',
    deltaInUse: 'Not enough unsold stock. Remove fewer.',
    deltaBounds: 'Enter a whole number. Total stock can be at most 1,000,000.',
  },
  {
    newTitle: '新建代金券',
    editTitle: '编辑代金券',
    notFound: '代金券不存在。',
    kind: '类型',
    regular: '普通代金券',
    regularWhy: '不限库存，下架前均可购买。',
    flash: '秒杀',
    flashWhy: '限时限量，每人限购 1 张。',
    title: '标题',
    titleBounds: '请输入 1 到 120 个字符。',
    subTitle: '副标题',
    subTitleBounds: '最多 200 个字符。',
    rules: '使用规则',
    rulesHint: '例如：有效期、使用时段、是否可叠加',
    rulesBounds: '最多 2000 个字符。',
    pay: '售价（元）',
    payBounds: '请输入 0.01 到 1,000,000 之间的金额。',
    face: '面值（元）',
    faceBounds: '请输入不低于售价的金额，最高 1,000,000。',
    fixed: '售价与面值创建后不可修改。',
    onePerUser: '每人限购 1 张',
    stock: '库存',
    stockBounds: '请输入 1 到 1,000,000 之间的整数。',
    begins: '开始时间',
    beginsBounds: '请选择 366 天内的时间。',
    ends: '结束时间',
    endsBounds: '须晚于当前时间和开始时间，且距开始不超过 366 天。',
    zone: (name) => `时间以浏览器时区为准：${name}。`,
    create: '创建代金券',
    created: '代金券已创建。',
    outcomeUnknown: '无法确认代金券是否已创建。',
    outcomeHint: '再次提交前请先查看店铺，以免重复创建。',
    viewShop: '查看店铺',
    onSale: '在售',
    onSaleWhy: '下架后无法购买，已有订单不受影响。',
    save: '保存',
    saved: '已保存。',
    price: (pay, face) => `${pay}，面值 ${face}`,
    left: (n, all) => `剩余 ${n} / ${all} 张`,
    delta: '增减库存',
    deltaHint: '例如 50 或 -10，留空则不变。',
    deltaUnknown: '无法确认库存是否已修改。',
    deltaUnknownHint: '再次修改前请先查看当前库存。',
    deltaInUse: '未售库存不足，请减少扣减的数量。',
    deltaBounds: '请输入整数，总库存不超过 1,000,000 张。',
  },
)

/** The form for a new voucher. */
export function NewVoucher({ shopId }: { shopId: string }) {
  const t = useTexts()
  const [{ data, error }, refetch] = useApiQuery({
    query: VoucherFormShopDocument,
    variables: { id: shopId },
    requestPolicy: 'cache-first',
  })
  return (
    <Screen title={t.newTitle} backTo={`/merchant/shops/${shopId}`}>
      <RequireRole role="MERCHANT">
        {error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : (
          <>
            <p className={css.of} dir="auto">
              {data?.shop?.name}
            </p>
            <CreateForm shopId={shopId} />
          </>
        )}
      </RequireRole>
    </Screen>
  )
}

/** The form for an existing voucher. */
export function EditVoucher({ id }: { id: string }) {
  const t = useTexts()
  // A refetch must not replace the user's input.
  const [{ data, error }, refetch] = useApiQuery({
    query: VoucherFormDocument,
    variables: { id },
    requestPolicy: 'network-only',
    refetchOnResume: false,
  })
  // Keep the voucher and the user's input when a refetch fails.
  const [loaded, setLoaded] = useState(data)
  if (data && data !== loaded) setLoaded(data)
  const voucher = loaded?.voucher
  return (
    <Screen
      title={t.editTitle}
      backTo={voucher ? `/merchant/shops/${voucher.shop.id}` : '/merchant'}
    >
      <RequireRole role="MERCHANT">
        {voucher ? (
          <UpdateForm voucher={voucher} reload={() => refetch({ requestPolicy: 'network-only' })} />
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : loaded ? (
          <EmptyState title={t.notFound} />
        ) : (
          <Skeleton shape="text" count={4} />
        )}
      </RequireRole>
    </Screen>
  )
}

const fields = [
  'title',
  'subTitle',
  'rules',
  'payValue',
  'faceValue',
  'stock',
  'stockDelta',
  'beginsAt',
  'endsAt',
]
const hour = 3_600_000 // ms
const limits = { title: 120, subTitle: 200, rules: 2000 } // characters

function CreateForm({ shopId }: { shopId: string }) {
  const t = useTexts()
  const [, navigate] = useLocation()
  const [create, creating] = useApiMutation(CreateVoucherDocument, { toastErrors: false })
  const [createFlash, creatingFlash] = useApiMutation(CreateFlashVoucherDocument, {
    toastErrors: false,
  })
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const errorAt = useFieldErrors(userErrors)
  const [outcomeUnknown, setOutcomeUnknown] = useState(false)

  const [flash, setFlash] = useState(false)
  const text = useTextFields({ title: '', subTitle: null, rules: null })
  const [pay, setPay] = useState('')
  const [face, setFace] = useState('')
  const [onePerUser, setOnePerUser] = useState(false)
  const [stock, setStock] = useState('100')
  const [begins, setBegins] = useState(() => toLocalInput(nextHour()))
  const [ends, setEnds] = useState(() => toLocalInput(new Date(nextHour().getTime() + 24 * hour)))

  const save = async () => {
    const payValue = parseMinor(pay)
    const faceValue = parseMinor(face)
    const stockCount = parseInteger(stock)
    const beginsAt = fromLocalInput(begins)
    const endsAt = fromLocalInput(ends)
    const invalid = [
      ...text.invalidField,
      !isPrice(payValue) && invalidField('payValue'),
      (!isPrice(faceValue) || faceValue < (payValue ?? 0)) && invalidField('faceValue'),
      flash && !isStock(stockCount) && invalidField('stock'),
      flash && beginsAt === null && invalidField('beginsAt'),
      flash && endsAt === null && invalidField('endsAt'),
    ].filter((one) => one !== false)
    setUserErrors(invalid)
    if (invalid.length > 0) return

    const shared = {
      shopId,
      ...text.input,
      payValue: payValue ?? 0,
      faceValue: faceValue ?? 0,
    }
    const result = flash
      ? await createFlash({
          input: {
            ...shared,
            stock: stockCount ?? 0,
            beginsAt: beginsAt ?? '',
            endsAt: endsAt ?? '',
          },
        })
      : await create({ input: { ...shared, onePerUser } })
    setUserErrors(result.ok ? [] : result.userErrors)
    setOutcomeUnknown(!result.ok && isOutcomeUnknown(result.error))
    if (!result.ok) return
    toast(t.created)
    navigate(`/merchant/shops/${shopId}`, { replace: true })
  }

  return (
    <Form label={t.newTitle} userErrors={userErrors} fields={fields} onSubmit={() => void save()}>
      <fieldset className={css.kinds}>
        <legend>{t.kind}</legend>
        <label data-chosen={!flash || undefined}>
          <input type="radio" name="kind" checked={!flash} onChange={() => setFlash(false)} />
          <span>
            <strong>{t.regular}</strong>
            <small>{t.regularWhy}</small>
          </span>
        </label>
        <label data-chosen={flash || undefined}>
          <input type="radio" name="kind" checked={flash} onChange={() => setFlash(true)} />
          <span>
            <strong>{t.flash}</strong>
            <small>{t.flashWhy}</small>
          </span>
        </label>
      </fieldset>
      <TextFields text={text} errorAt={errorAt} />
      <Row>
        <AmountField
          label={t.pay}
          error={errorAt('payValue', t.payBounds)}
          value={pay}
          onChange={setPay}
        />
        <AmountField
          label={t.face}
          error={errorAt('faceValue', t.faceBounds)}
          value={face}
          onChange={setFace}
        />
      </Row>
      <p className={css.hint}>{t.fixed}</p>
      {flash ? (
        <>
          <Field
            label={t.stock}
            error={errorAt('stock', t.stockBounds)}
            inputMode="numeric"
            autoComplete="off"
            value={stock}
            onChange={(event) => setStock(event.target.value)}
          />
          <SaleWindow
            {...{ begins, setBegins, ends, setEnds }}
            beginsError={errorAt('beginsAt', t.beginsBounds)}
            endsError={errorAt('endsAt', t.endsBounds)}
          />
        </>
      ) : (
        <label className={css.check}>
          <input
            type="checkbox"
            checked={onePerUser}
            onChange={(event) => setOnePerUser(event.target.checked)}
          />
          {t.onePerUser}
        </label>
      )}
      {outcomeUnknown && (
        <OutcomeWarning title={t.outcomeUnknown} hint={t.outcomeHint}>
          <ButtonLink kind="quiet" small href={`/merchant/shops/${shopId}`}>
            {t.viewShop}
          </ButtonLink>
        </OutcomeWarning>
      )}
      <Button type="submit" wide busy={creating || creatingFlash}>
        {t.create}
      </Button>
    </Form>
  )
}

interface UpdateFormProps {
  readonly voucher: VoucherFormFragment
  /** Refetches the voucher. */
  readonly reload: () => void
}

function UpdateForm({ voucher, reload }: UpdateFormProps) {
  const t = useTexts()
  const { money, number } = useFormat()
  const [, navigate] = useLocation()
  const [update, updating] = useApiMutation(UpdateVoucherDocument, { toastErrors: false })
  const [updateFlash, updatingFlash] = useApiMutation(UpdateFlashVoucherDocument, {
    toastErrors: false,
  })
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const errorAt = useFieldErrors(userErrors)

  const fewer = userErrorFor(userErrors, 'stockDelta')?.code === 'VOUCHER_IN_USE'

  const sale = 'sale' in voucher ? voucher.sale : null
  const text = useTextFields(voucher)
  const [wasOnSale] = useState(voucher.status === 'ON_SALE')
  const [onSale, setOnSale] = useState(wasOnSale)
  const [delta, setDelta] = useState('')
  const [outcomeUnknown, setOutcomeUnknown] = useState(false)
  useOnResume(() => {
    if (outcomeUnknown) reload()
  })
  const [begins, setBegins] = useState(sale === null ? '' : toLocalInput(sale.beginsAt))
  const [ends, setEnds] = useState(sale === null ? '' : toLocalInput(sale.endsAt))

  const save = async () => {
    const stockDelta = delta.trim() === '' ? undefined : parseInteger(delta)
    const invalid = [
      ...text.invalidField,
      stockDelta !== undefined && !isDelta(stockDelta) && invalidField('stockDelta'),
      sale !== null && fromLocalInput(begins) === null && invalidField('beginsAt'),
      sale !== null && fromLocalInput(ends) === null && invalidField('endsAt'),
    ].filter((one) => one !== false)
    setUserErrors(invalid)
    if (invalid.length > 0) return

    const input = {
      id: voucher.id,
      ...text.changes,
      // Unchanged fields keep changes by others. Merchants cannot set EXPIRED.
      ...(voucher.status === 'EXPIRED' || onSale === wasOnSale
        ? {}
        : { status: onSale ? ('ON_SALE' as const) : ('OFF_SALE' as const) }),
    }
    const result =
      sale === null
        ? await update({ input })
        : await updateFlash({
            input: {
              ...input,
              // Fields show minutes. Unchanged times keep their milliseconds.
              ...(begins === toLocalInput(sale.beginsAt)
                ? {}
                : { beginsAt: fromLocalInput(begins) }),
              ...(ends === toLocalInput(sale.endsAt) ? {} : { endsAt: fromLocalInput(ends) }),
              ...(stockDelta === undefined ? {} : { stockDelta }),
            },
          })
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) {
      if (stockDelta === undefined || !isOutcomeUnknown(result.error)) return
      // Sending it again would add the stock twice.
      setDelta('')
      setOutcomeUnknown(true)
      reload()
      return
    }
    toast(t.saved)
    navigate(`/merchant/shops/${voucher.shop.id}`, { replace: true })
  }

  return (
    <>
      <p className={css.of}>
        <bdi>{voucher.shop.name}</bdi> ·{' '}
        {t.price(money(voucher.payValue), money(voucher.faceValue))}
      </p>
      <Form
        label={t.editTitle}
        userErrors={userErrors}
        fields={fields}
        onSubmit={() => void save()}
      >
        <TextFields text={text} errorAt={errorAt} />
        {voucher.status !== 'EXPIRED' && (
          <label className={css.check}>
            <input
              type="checkbox"
              checked={onSale}
              onChange={(event) => setOnSale(event.target.checked)}
            />
            <span>
              {t.onSale}
              <small>{t.onSaleWhy}</small>
            </span>
          </label>
        )}
        {sale && (
          <>
            <p className={css.left} data-stock={sale.stock}>
              {t.left(number(sale.stock), number(sale.initialStock))}
            </p>
            {outcomeUnknown && <OutcomeWarning title={t.deltaUnknown} hint={t.deltaUnknownHint} />}
            <Field
              label={t.delta}
              hint={t.deltaHint}
              error={fewer ? t.deltaInUse : errorAt('stockDelta', t.deltaBounds)}
              autoComplete="off"
              value={delta}
              onChange={(event) => setDelta(event.target.value)}
            />
            <SaleWindow
              {...{ begins, setBegins, ends, setEnds }}
              beginsError={errorAt('beginsAt', t.beginsBounds)}
              endsError={errorAt('endsAt', t.endsBounds)}
            />
          </>
        )}
        <Button type="submit" wide busy={updating || updatingFlash}>
          {t.save}
        </Button>
      </Form>
    </>
  )
}

interface OutcomeWarningProps {
  readonly title: string
  readonly hint: string
  readonly children?: ReactNode
}

/** Warns that a request may have succeeded although its response was lost. */
function OutcomeWarning({ title, hint, children }: OutcomeWarningProps) {
  return (
    <div className={css.doubt} role="alert" data-doubt>
      <p>
        <strong>{title}</strong>
      </p>
      <p>{hint}</p>
      {children}
    </div>
  )
}

interface VoucherTexts {
  readonly title: string
  readonly subTitle: string | null
  readonly rules: string | null
}

/** State of a voucher's text fields. */
function useTextFields(initial: VoucherTexts) {
  const [title, setTitle] = useState(initial.title)
  const [subTitle, setSubTitle] = useState(initial.subTitle ?? '')
  const [rules, setRules] = useState(initial.rules ?? '')
  const [was] = useState({ title, subTitle, rules })
  const input = { title: title.trim(), subTitle: trimToNull(subTitle), rules: trimToNull(rules) }
  const changes = {
    ...(title === was.title ? {} : { title: input.title }),
    ...(subTitle === was.subTitle ? {} : { subTitle: input.subTitle }),
    ...(rules === was.rules ? {} : { rules: input.rules }),
  }
  const isTitle = title.trim() !== '' && textLength(title) <= limits.title
  const invalid = [
    !isTitle && invalidField('title'),
    textLength(subTitle) > limits.subTitle && invalidField('subTitle'),
    textLength(rules) > limits.rules && invalidField('rules'),
  ]
  return {
    title,
    setTitle,
    subTitle,
    setSubTitle,
    rules,
    setRules,
    input,
    changes,
    invalidField: invalid,
  }
}

interface TextFieldsProps {
  readonly text: ReturnType<typeof useTextFields>
  readonly errorAt: ReturnType<typeof useFieldErrors>
}

function TextFields({ text, errorAt }: TextFieldsProps) {
  const t = useTexts()
  return (
    <>
      <Field
        label={t.title}
        error={errorAt('title', t.titleBounds)}
        limit={limits.title}
        value={text.title}
        onChange={(event) => text.setTitle(event.target.value)}
      />
      <Field
        label={t.subTitle}
        error={errorAt('subTitle', t.subTitleBounds)}
        limit={limits.subTitle}
        value={text.subTitle}
        onChange={(event) => text.setSubTitle(event.target.value)}
      />
      <TextArea
        label={t.rules}
        hint={t.rulesHint}
        error={errorAt('rules', t.rulesBounds)}
        limit={limits.rules}
        value={text.rules}
        onChange={(event) => text.setRules(event.target.value)}
      />
    </>
  )
}

interface SaleWindowProps {
  readonly begins: string
  readonly setBegins: (value: string) => void
  readonly beginsError: string | undefined
  readonly ends: string
  readonly setEnds: (value: string) => void
  readonly endsError: string | undefined
}

/** Start and end of a sale, in the browser's time zone. */
function SaleWindow({ begins, setBegins, beginsError, ends, setEnds, endsError }: SaleWindowProps) {
  const t = useTexts()
  return (
    <>
      <Row long>
        <Field
          label={t.begins}
          error={beginsError}
          type="datetime-local"
          value={begins}
          onChange={(event) => setBegins(event.target.value)}
        />
        <Field
          label={t.ends}
          error={endsError}
          type="datetime-local"
          value={ends}
          onChange={(event) => setEnds(event.target.value)}
        />
      </Row>
      <p className={css.hint}>{t.zone(new Intl.DateTimeFormat().resolvedOptions().timeZone)}</p>
    </>
  )
}

function nextHour(): Date {
  return new Date((Math.floor(Date.now() / hour) + 1) * hour)
}

function isStock(n: number | null): boolean {
  return n !== null && n > 0 && n <= 1_000_000
}

function isDelta(n: number | null): boolean {
  return n !== null && Math.abs(n) <= 1_000_000
}

/** Reports whether an amount is 0.01 to 1,000,000 yuan. */
function isPrice(minor: number | null): minor is number {
  return minor !== null && minor > 0 && minor <= 100_000_000
}
