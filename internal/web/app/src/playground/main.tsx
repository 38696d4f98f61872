import 'graphiql/style.css'
import '@graphiql/plugin-explorer/style.css'
import './playground.css'

import { explorerPlugin } from '@graphiql/plugin-explorer'
import { createGraphiQLFetcher } from '@graphiql/toolkit'
import { GraphiQL } from 'graphiql'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { firstQuery } from './firstQuery'

const socket = new URL('/graphql', window.location.href)
socket.protocol = socket.protocol === 'https:' ? 'wss:' : 'ws:'

// By address rather than by a client of ours: only so does the header editor
// become the connectionParams of each subscription.
const fetcher = createGraphiQLFetcher({ url: '/graphql', subscriptionUrl: socket.href })

// GraphiQL adds its history plugin itself and refuses a second one.
const plugins = [explorerPlugin()]

const root = document.getElementById('root')
if (!root) throw new Error('playground.html has no #root')

createRoot(root).render(
  <StrictMode>
    <GraphiQL
      fetcher={fetcher}
      plugins={plugins}
      defaultTabs={[{ query: firstQuery }]}
      defaultEditorToolsVisibility="headers"
    />
  </StrictMode>,
)
