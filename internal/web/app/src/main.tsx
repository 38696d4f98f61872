import './app/global.css'

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { App } from './app/App'
import { showTheme } from './app/theme'
import { reloadOnUpgrade } from './app/upgrade'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')

showTheme()
reloadOnUpgrade()
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
