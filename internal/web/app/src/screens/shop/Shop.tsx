import { Clock, MapPin, MessageCircle, PenLine, ShoppingBag } from 'lucide-react'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import { NotFound } from '@/screens/notfound/NotFound'
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

import { ShopDocument, ShopNotesDocument } from './shop.gql'
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
    vouchers: '代金券',
    noVouchers: '暂无代金券。',
    where: '位置',
    notes: '笔记',
    noNotes: '还没有人写过这家店，来写第一篇吧。',
    write: '写笔记',
  },
)

/** A shop: pictures, vouchers, location and notes. */
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
    <Screen title={shop.name} backTo="/">
      <div className={css.layout} data-shop={id}>
        <div className={css.head}>
          {shop.images.length > 0 && (
            <Gallery label={t.pictures(isolate(shop.name))} images={shop.images} ratio={3 / 2} />
          )}
          <div className={css.card}>
            <p className={css.facts}>
              <Score value={shop.score} />
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
            <dl className={css.details}>
              <div>
                <dt>
                  <MapPin aria-hidden="true" size={18} />
                  <span className="visually-hidden">{t.address}</span>
                </dt>
                <dd>
                  <bdi>{shop.address}</bdi>
                  {shop.area !== null && (
                    <span className={css.area} dir="auto">
                      {shop.area}
                    </span>
                  )}
                </dd>
              </div>
              {shop.openHours !== null && (
                <div>
                  <dt>
                    <Clock aria-hidden="true" size={18} />
                    <span className="visually-hidden">{t.hours}</span>
                  </dt>
                  <dd dir="auto">{shop.openHours}</dd>
                </div>
              )}
            </dl>
          </div>
        </div>

        <div className={css.side}>
          <section aria-labelledby="vouchers">
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
          <section aria-labelledby="where">
            <h2 id="where">{t.where}</h2>
            <ShopMap shop={shop} />
          </section>
        </div>

        <section className={css.notes} aria-labelledby="notes">
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
    </Screen>
  )
}
