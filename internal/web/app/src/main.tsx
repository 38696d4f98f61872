import './app/global.css'

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { App } from './app/App'
import { initTheme } from './app/theme'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')

initTheme()
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
