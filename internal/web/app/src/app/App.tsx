import { Suspense } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'

import { ApiProvider } from '@/api/ApiProvider'
import { Home } from '@/screens/home/Home'
import { useSession } from '@/session/session'
import { RequireSignIn } from '@/session/RequireSignIn'
import { Skeleton } from '@/ui/Skeleton'

import { useBeacon } from './beacon'
import { ErrorBoundary } from './ErrorBoundary'
import { useEntryLocation, useScrollRestoration } from './historyEntry'
import { Shell } from './Shell'
import { lazyScreen } from './upgrade'

// Home is in the main bundle. Other screens load on demand.
const Search = lazyScreen(async () => (await import('@/screens/search/Search')).Search)
const Rankings = lazyScreen(async () => (await import('@/screens/rankings/Rankings')).Rankings)
const SignIn = lazyScreen(async () => (await import('@/screens/signin/SignIn')).SignIn)
const Shop = lazyScreen(async () => (await import('@/screens/shop/Shop')).Shop)
const Voucher = lazyScreen(async () => (await import('@/screens/voucher/Voucher')).Voucher)
const Sale = lazyScreen(async () => (await import('@/screens/sale/Sale')).Sale)
const Order = lazyScreen(async () => (await import('@/screens/order/Order')).Order)
const Orders = lazyScreen(async () => (await import('@/screens/orders/Orders')).Orders)
const Note = lazyScreen(async () => (await import('@/screens/note/Note')).Note)
const Publish = lazyScreen(async () => (await import('@/screens/publish/Publish')).Publish)
const User = lazyScreen(async () => (await import('@/screens/user/User')).User)
const People = lazyScreen(async () => (await import('@/screens/people/People')).People)
const Feed = lazyScreen(async () => (await import('@/screens/feed/Feed')).Feed)
const Me = lazyScreen(async () => (await import('@/screens/me/Me')).Me)
const Saved = lazyScreen(async () => (await import('@/screens/saved/Saved')).Saved)
const EditMe = lazyScreen(async () => (await import('@/screens/me/EditMe')).EditMe)
const Settings = lazyScreen(async () => (await import('@/screens/settings/Settings')).Settings)
const Merchant = lazyScreen(async () => (await import('@/screens/merchant/Merchant')).Merchant)
const Redeem = lazyScreen(async () => (await import('@/screens/merchant/Redeem')).Redeem)
const NewShop = lazyScreen(async () => (await import('@/screens/merchant/EditShop')).NewShop)
const EditShop = lazyScreen(async () => (await import('@/screens/merchant/EditShop')).EditShop)
const MyShop = lazyScreen(async () => (await import('@/screens/merchant/MyShop')).MyShop)
const NewVoucher = lazyScreen(
  async () => (await import('@/screens/merchant/EditVoucher')).NewVoucher,
)
const EditVoucher = lazyScreen(
  async () => (await import('@/screens/merchant/EditVoucher')).EditVoucher,
)
const Admin = lazyScreen(async () => (await import('@/screens/admin/Admin')).Admin)
const NotFound = lazyScreen(async () => (await import('@/screens/notfound/NotFound')).NotFound)
const LiveFeed = lazyScreen(async () => (await import('@/feed/LiveFeed')).LiveFeed)

export function App() {
  return (
    // oxlint-disable-next-line react/hooks -- that is how the router takes it
    <Router hook={useEntryLocation}>
      <ApiProvider>
        <Routes />
        <LiveUpdates />
      </ApiProvider>
    </Router>
  )
}

/** Keeps the feed subscription open on all screens while the user is signed in. */
function LiveUpdates() {
  return (
    useSession() !== null && (
      <ErrorBoundary fallback={null}>
        <Suspense fallback={null}>
          <LiveFeed />
        </Suspense>
      </ErrorBoundary>
    )
  )
}

function Routes() {
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
            <Route path="/rankings" component={Rankings} />
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
                <SignedInRoutes />
              </Suspense>
            </Route>
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </Shell>
  )
}

/** Routes that need a session, and the 404 screen. */
function SignedInRoutes() {
  return (
    <Switch>
      <Route path="/orders">
        {() => (
          <RequireSignIn>
            <Orders />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/orders/:id">
        {({ id }) => (
          <RequireSignIn>
            <Order key={id} id={id} />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/publish">
        {() => (
          <RequireSignIn>
            <Publish />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/feed">
        {() => (
          <RequireSignIn>
            <Feed />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/saved">
        {() => (
          <RequireSignIn>
            <Saved />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/me">
        {() => (
          <RequireSignIn>
            <Me />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/me/edit">
        {() => (
          <RequireSignIn>
            <EditMe />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant">
        {() => (
          <RequireSignIn>
            <Merchant />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/redeem">
        {() => (
          <RequireSignIn>
            <Redeem />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/shops/new">
        {() => (
          <RequireSignIn>
            <NewShop />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id">
        {({ id }) => (
          <RequireSignIn>
            <MyShop key={id} id={id} />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id/edit">
        {({ id }) => (
          <RequireSignIn>
            <EditShop key={id} id={id} />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/shops/:id/vouchers/new">
        {({ id }) => (
          <RequireSignIn>
            <NewVoucher key={id} shopId={id} />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/merchant/vouchers/:id">
        {({ id }) => (
          <RequireSignIn>
            <EditVoucher key={id} id={id} />
          </RequireSignIn>
        )}
      </Route>
      <Route path="/admin">
        {() => (
          <RequireSignIn>
            <Admin />
          </RequireSignIn>
        )}
      </Route>
      <Route component={NotFound} />
    </Switch>
  )
}
