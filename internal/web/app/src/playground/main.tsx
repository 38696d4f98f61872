import './arrayPolyfills'

import 'graphiql/style.css'
import '@graphiql/plugin-explorer/style.css'
import './playground.css'

import { explorerPlugin } from '@graphiql/plugin-explorer'
import { createGraphiQLFetcher, type Fetcher } from '@graphiql/toolkit'
import { GraphiQL } from 'graphiql'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { Bar } from './Bar'
import { firstQuery } from './firstQuery'
import { authorization } from './session'

const socket = new URL('/graphql', window.location.href)
socket.protocol = socket.protocol === 'https:' ? 'wss:' : 'ws:'

// GraphiQL must create the socket client: only then do request headers become connectionParams.
const base = createGraphiQLFetcher({ url: '/graphql', subscriptionUrl: socket.href })

// GraphiQL's options add headers to introspection or to requests, not to both. The header editor
// takes precedence.
const fetcher: Fetcher = (params, options) => {
  const typed = options?.headers ?? {}
  const named = Object.keys(typed).some((name) => name.toLowerCase() === 'authorization')
  return base(params, { ...options, headers: { ...(named ? {} : authorization()), ...typed } })
}

// GraphiQL adds the history plugin itself and rejects a second one.
const plugins = [explorerPlugin()]

const bar = document.getElementById('bar')
const root = document.getElementById('root')
if (!bar || !root) throw new Error('playground.html lacks #bar or #root')

createRoot(root).render(
  <StrictMode>
    <GraphiQL
      fetcher={fetcher}
      plugins={plugins}
      defaultTabs={[{ query: firstQuery }]}
      defaultEditorToolsVisibility="variables"
    >
      <GraphiQL.Logo>
        <Bar into={bar} />
      </GraphiQL.Logo>
    </GraphiQL>
  </StrictMode>,
)
