// Writes ../dist/build.sha256: one line "sha256  path" for every input and output file of the
// build, with paths relative to internal/web. The Go test TestDistIsFresh builds the same list
// without Node. It detects changed sources and edited or partly committed builds.
//
// The list contains the visible files of app/, the folders in `sourceFolders` with all subfolders,
// the API schema (the source of the documents and types), and dist/ except the stamp itself.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const web = new URL('../../', import.meta.url)
const sourceFolders = ['app/public', 'app/scripts', 'app/src']
const stamp = 'dist/build.sha256'

const files = [
  ...filesIn('app', false),
  ...filesIn('../../graph/schema', false),
  ...sourceFolders.flatMap((folder) => filesIn(folder, true)),
  ...filesIn('dist', true).filter((path) => path !== stamp),
].toSorted()

const lines = files.map((path) => `${sha256(path)}  ${path}\n`)
writeFileSync(new URL(stamp, web), lines.join(''))

function filesIn(folder, deep) {
  return readdirSync(new URL(folder, web), { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return deep ? filesIn(path, true) : []
      return [path]
    })
}

function sha256(path) {
  return createHash('sha256')
    .update(readFileSync(new URL(path, web)))
    .digest('hex')
}
