import { Suspense } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'

import { ApiProvider } from '@/api/ApiProvider'
import { Home } from '@/screens/home/Home'
import { useSession } from '@/session/session'
import { SignedIn } from '@/session/SignedIn'
import { Skeleton } from '@/ui/Skeleton'

import { useBeacon } from './beacon'
import { ErrorBoundary } from './ErrorBoundary'
import { useEntryLocation, useScrollRestoration } from './entries'
import { Shell } from './Shell'
import { screen } from './upgrade'

// The first screen comes with the page, each other one when it is opened.
const Search = screen(async () => (await import('@/screens/search/Search')).Search)
const SignIn = screen(async () => (await import('@/screens/signin/SignIn')).SignIn)
const Shop = screen(async () => (await import('@/screens/shop/Shop')).Shop)
const Voucher = screen(async () => (await import('@/screens/voucher/Voucher')).Voucher)
const Sale = screen(async () => (await import('@/screens/sale/Sale')).Sale)
const Order = screen(async () => (await import('@/screens/order/Order')).Order)
const Orders = screen(async () => (await import('@/screens/orders/Orders')).Orders)
const Note = screen(async () => (await import('@/screens/note/Note')).Note)
const Publish = screen(async () => (await import('@/screens/publish/Publish')).Publish)
const User = screen(async () => (await import('@/screens/user/User')).User)
const People = screen(async () => (await import('@/screens/people/People')).People)
const Feed = screen(async () => (await import('@/screens/feed/Feed')).Feed)
const Me = screen(async () => (await import('@/screens/me/Me')).Me)
const EditMe = screen(async () => (await import('@/screens/me/EditMe')).EditMe)
const Settings = screen(async () => (await import('@/screens/settings/Settings')).Settings)
const Merchant = screen(async () => (await import('@/screens/merchant/Merchant')).Merchant)
const Redeem = screen(async () => (await import('@/screens/merchant/Redeem')).Redeem)
const NewShop = screen(async () => (await import('@/screens/merchant/EditShop')).NewShop)
const EditShop = screen(async () => (await import('@/screens/merchant/EditShop')).EditShop)
const MyShop = screen(async () => (await import('@/screens/merchant/MyShop')).MyShop)
const NewVoucher = screen(async () => (await import('@/screens/merchant/EditVoucher')).NewVoucher)
const EditVoucher = screen(async () => (await import('@/screens/merchant/EditVoucher')).EditVoucher)
const Admin = screen(async () => (await import('@/screens/admin/Admin')).Admin)
const Lost = screen(async () => (await import('@/screens/lost/Lost')).Lost)
const LiveFeed = screen(async () => (await import('@/feed/LiveFeed')).LiveFeed)

export function App() {
  return (
    // oxlint-disable-next-line react/hooks -- that is how the router takes it
    <Router hook={useEntryLocation}>
      <ApiProvider>
        <Pages />
        <Live />
      </ApiProvider>
    </Router>
  )
}

/** What goes on for who is signed in on every screen. */
function Live() {
  return (
    useSession() !== null && (
      <ErrorBoundary instead={null}>
        <Suspense fallback={null}>
          <LiveFeed />
        </Suspense>
      </ErrorBoundary>
    )
  )
}

function Pages() {
  const [path] = useLocation()
  useScrollRestoration()
  useBeacon()
  return (
    <Shell>
      <ErrorBoundary key={path}>
        <Suspense fallback={<Skeleton shape="text" count={3} />}>
          <Switch>
            <Route path="/" component={Home} />
            <Route path="/search" component={Search} />
            <Route path="/signin" component={SignIn} />
            <Route path="/settings" component={Settings} />
            <Route path="/shops/:id">{({ id }) => <Shop key={id} id={id} />}</Route>
            <Route path="/vouchers/:id">{({ id }) => <Voucher key={id} id={id} />}</Route>
            <Route path="/sales/:id">{({ id }) => <Sale key={id} id={id} />}</Route>
            <Route path="/notes/:id">{({ id }) => <Note key={id} id={id} />}</Route>
            <Route path="/users/:id">{({ id }) => <User key={id} id={id} />}</Route>
            <Route path="/users/:id/:list">
              {({ id, list }) => <People key={id + list} id={id} list={list} />}
            </Route>
            <Route>
              <Suspense fallback={<Skeleton shape="text" count={3} />}>
                <Private />
              </Suspense>
            </Route>
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </Shell>
  )
}

/** The screens of who is signed in, and that of a path that leads nowhere. */
function Private() {
  return (
    <Switch>
      <Route path="/orders">
        {() => (
          <SignedIn>
            <Orders />
          </SignedIn>
        )}
      </Route>
      <Route path="/orders/:id">
        {({ id }) => (
          <SignedIn>
            <Order key={id} id={id} />
          </SignedIn>
        )}
      </Route>
      <Route path="/publish">
        {() => (
          <SignedIn>
            <Publish />
          </SignedIn>
        )}
      </Route>
      <Route path="/feed">
        {() => (
          <SignedIn>
            <Feed />
          </SignedIn>
        )}
      </Route>
      <Route path="/me">
        {() => (
          <SignedIn>
            <Me />
          </SignedIn>
        )}
      </Route>
      <Route path="/me/edit">
        {() => (
          <SignedIn>
            <EditMe />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant">
        {() => (
          <SignedIn>
            <Merchant />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/redeem">
        {() => (
          <SignedIn>
            <Redeem />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/shops/new">
        {() => (
          <SignedIn>
            <NewShop />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id">
        {({ id }) => (
          <SignedIn>
            <MyShop key={id} id={id} />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id/edit">
        {({ id }) => (
          <SignedIn>
            <EditShop key={id} id={id} />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id/vouchers/new">
        {({ id }) => (
          <SignedIn>
            <NewVoucher key={id} shopId={id} />
          </SignedIn>
        )}
      </Route>
      <Route path="/merchant/vouchers/:id">
        {({ id }) => (
          <SignedIn>
            <EditVoucher key={id} id={id} />
          </SignedIn>
        )}
      </Route>
      <Route path="/admin">
        {() => (
          <SignedIn>
            <Admin />
          </SignedIn>
        )}
      </Route>
      <Route component={Lost} />
    </Switch>
  )
}
