import {
  Clock,
  Globe,
  MapPin,
  MessageCircle,
  PenLine,
  Phone,
  ShoppingBag,
  type LucideIcon,
} from 'lucide-react'
import type { ReactNode } from 'react'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import { Ratings } from '@/ratings/Ratings'
import { SaveButton } from '@/saves/SaveButton'
import { NotFound } from '@/screens/notfound/NotFound'
import { phoneUrl, websiteLink } from '@/shops/contact'
import { Hours } from '@/shops/Hours'
import { ShopMap } from '@/shops/ShopMap'
import { useTypeName } from '@/shops/typeNames'
import { ButtonLink } from '@/ui/Button'
import { Gallery } from '@/ui/Gallery'
import { Pages } from '@/ui/Pages'
import { Score } from '@/ui/Score'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { SaleCard } from '@/vouchers/SaleCard'
import { VoucherCard } from '@/vouchers/VoucherCard'

import { ShopDocument, ShopNotesDocument, type ShopQuery } from './shop.gql'
import css from './Shop.module.css'

const useTexts = texts(
  {
    title: 'Shop',
    pictures: (name: string) => `Photos of ${name}`,
    perPerson: (price: string) => `${price} per person`,
    comments: (n: string) => (n === '1' ? '1 comment' : `${n} comments`),
    sold: (n: string) => (n === '1' ? '1 voucher sold' : `${n} vouchers sold`),
    address: 'Address',
    hours: 'Opening hours',
    phone: 'Phone',
    website: 'Website',
    ratings: 'Ratings',
    vouchers: 'Vouchers',
    noVouchers: 'No vouchers right now',
    where: 'Location',
    notes: 'Notes',
    noNotes: 'No notes about this shop yet. Write the first one.',
    write: 'Write a note',
  },
  {
    title: '店铺',
    pictures: (name) => `${name} 的图片`,
    perPerson: (price) => `人均 ${price}`,
    comments: (n) => `${n} 条评论`,
    sold: (n) => `已售 ${n} 张`,
    address: '地址',
    hours: '营业时间',
    phone: '电话',
    website: '网站',
    ratings: '评分',
    vouchers: '代金券',
    noVouchers: '暂无代金券。',
    where: '位置',
    notes: '笔记',
    noNotes: '还没有人写过这家店，来写第一篇吧。',
    write: '写笔记',
  },
)

/** A shop: pictures, vouchers, ratings, notes and location. */
export function Shop({ id }: { id: string }) {
  const t = useTexts()
  const { money, number } = useFormat()
  const typeName = useTypeName()
  const [{ data, error }, refetch] = useApiQuery({ query: ShopDocument, variables: { id } })
  const shop = data?.shop
  if (!shop) {
    if (shop === null || (error && errorCode(error) === 'BAD_USER_INPUT')) return <NotFound />
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
  return (
    <Screen
      title={shop.name}
      backTo="/"
      action={<SaveButton type="Shop" of={shop} name={shop.name} />}
    >
      <div className={css.layout} data-shop={id}>
        <div className={css.head}>
          {shop.images.length > 0 && (
            <Gallery label={t.pictures(isolate(shop.name))} images={shop.images} ratio={3 / 2} />
          )}
          <div className={css.card}>
            <p className={css.facts}>
              <Score shop={shop} />
              <span dir="auto">{typeName(shop.type.name)}</span>
              {shop.avgPrice !== null && <span>{t.perPerson(money(shop.avgPrice))}</span>}
            </p>
            <p className={css.figures}>
              <span>
                <MessageCircle aria-hidden="true" size={18} />
                {t.comments(number(shop.commentCount))}
              </span>
              <span>
                <ShoppingBag aria-hidden="true" size={18} />
                {t.sold(number(shop.sold))}
              </span>
            </p>
            <Details shop={shop} onHoursChange={() => refetch({ requestPolicy: 'network-only' })} />
          </div>
        </div>

        <section className={css.vouchers} aria-labelledby="vouchers">
          <h2 id="vouchers">{t.vouchers}</h2>
          {shop.vouchers.length === 0 ? (
            <p className={css.none}>{t.noVouchers}</p>
          ) : (
            <ul className={css.list}>
              {shop.vouchers.map((voucher) => (
                <li key={voucher.id}>
                  {'sale' in voucher ? (
                    <SaleCard voucher={voucher} />
                  ) : (
                    <VoucherCard voucher={voucher} />
                  )}
                </li>
              ))}
            </ul>
          )}
        </section>

        <div className={css.notes}>
          <section aria-labelledby="ratings">
            <h2 id="ratings">{t.ratings}</h2>
            <Ratings shop={shop} />
          </section>
          <section aria-labelledby="notes">
            <div className={css.heading}>
              <h2 id="notes">{t.notes}</h2>
              <ButtonLink small kind="quiet" href={`/publish?shop=${id}`}>
                <PenLine aria-hidden="true" size={18} />
                {t.write}
              </ButtonLink>
            </div>
            <Pages
              name="notes"
              document={ShopNotesDocument}
              variables={{ id }}
              connection={({ shop: of }) => of?.notes}
              className={css.list}
              loading={<Skeleton shape="card" />}
              empty={<EmptyState title={t.noNotes} />}
            >
              {({ node }) => <NoteCard note={node} />}
            </Pages>
          </section>
        </div>

        <section className={css.where} aria-labelledby="where">
          <h2 id="where">{t.where}</h2>
          <ShopMap shop={shop} />
        </section>
      </div>
    </Screen>
  )
}

type Shown = NonNullable<ShopQuery['shop']>

/** Address, opening hours, phone and website. */
function Details({ shop, onHoursChange }: { shop: Shown; onHoursChange: () => void }) {
  const t = useTexts()
  const { hours, openHours, phone } = shop
  const tel = phone === null ? null : phoneUrl(phone)
  const website = shop.website === null ? null : websiteLink(shop.website)
  return (
    <dl className={css.details}>
      <Detail icon={MapPin} label={t.address}>
        <bdi>{shop.address}</bdi>
        {shop.area !== null && (
          <span className={css.area} dir="auto">
            {shop.area}
          </span>
        )}
      </Detail>
      {(hours !== null || openHours !== null) && (
        <Detail icon={Clock} label={t.hours}>
          {hours === null ? (
            <bdi>{openHours}</bdi>
          ) : (
            <Hours shop={{ ...shop, hours }} onChange={onHoursChange} />
          )}
        </Detail>
      )}
      {phone !== null && (
        <Detail icon={Phone} label={t.phone}>
          {tel === null ? <bdi>{phone}</bdi> : <a href={tel}>{phone}</a>}
        </Detail>
      )}
      {website !== null && (
        <Detail icon={Globe} label={t.website}>
          <a href={website.url} target="_blank" rel="noopener noreferrer nofollow ugc" dir="auto">
            {website.name}
          </a>
        </Detail>
      )}
    </dl>
  )
}

function Detail({
  icon: Icon,
  label,
  children,
}: {
  icon: LucideIcon
  label: string
  children: ReactNode
}) {
  return (
    <div>
      <dt>
        <Icon aria-hidden="true" size={18} />
        <span className="visually-hidden">{label}</span>
      </dt>
      <dd>{children}</dd>
    </div>
  )
}
