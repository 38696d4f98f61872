import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The oldest supported browsers, as in README.md. scripts/oldBrowsers.mjs checks the build. */
const supported = ['chrome97', 'edge97', 'firefox102', 'safari15.4', 'ios15.4']

const src = fileURLToPath(new URL('src', import.meta.url))

/**
 * Drops GraphiQL's embedded fonts: they are four fifths of its style sheet, and their data: URLs
 * would need a wider content security policy. System fonts replace them.
 */
function withoutEmbeddedFonts(): Plugin {
  return {
    name: 'without-embedded-fonts',
    enforce: 'pre',
    transform(code, id) {
      if (!/graphiql.*\.css/.test(id)) return null
      return { code: code.replace(/@font-face\s*\{[^}]*\}/g, ''), map: null }
    },
  }
}

/** Emits the app's documents, which the server loads at start. */
function withDocuments(): Plugin {
  return {
    name: 'with-documents',
    apply: 'build',
    generateBundle() {
      const source = readFileSync('src/documents.json')
      this.emitFile({ type: 'asset', fileName: 'documents.json', source })
    },
  }
}

export default defineConfig({
  plugins: [withoutEmbeddedFonts(), withDocuments(), react()],
  resolve: { alias: { '@': src, 'react-style-singleton': `${src}/styleSingleton.ts` } },
  // `npm run dev` proxies API requests to a running server.
  server: {
    proxy: Object.fromEntries(
      ['/graphql', '/media', '/visit', '/demo', '/readyz'].map((path) => [
        path,
        { target: process.env.TANDIAN_URL ?? 'http://127.0.0.1:8080', ws: path === '/graphql' },
      ]),
    ),
  },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: supported,
    // One build: all pages share the React chunk and load no other page's code.
    rolldownOptions: {
      input: { app: 'index.html', playground: 'playground.html' },
      // Some dependencies keep directives of a compiler that has already run.
      checks: { moduleLevelDirective: false },
    },
    // Assets stay files: script-src and style-src do not allow data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'LICENSES.txt' },
    chunkSizeWarningLimit: 1200,
  },
})
