import { useSyncExternalStore } from 'react'
import type { CombinedError } from 'urql'

import type { UserError } from '@/api/errors'
import { upload } from '@/api/upload'
import { safeSessionStorage } from '@/app/safeStorage'
import { createStore } from '@/app/store'
import { prepareImage } from '@/forms/prepareImage'
import { currentSession } from '@/session/session'

import type { PickedShopFragment } from './publish.gql'

// The draft lives outside the screen. It survives navigation and reloads, except for pictures that
// are not uploaded yet.

export interface DraftPicture {
  readonly key: string
  readonly name: string
  /** Null until uploaded. */
  readonly url: string | null
  /** A small preview. */
  readonly preview: string | null
  /** Upload progress, 0 to 1. */
  readonly progress: number
  /** Why the upload failed; null otherwise. */
  readonly failure: { readonly userError?: UserError; readonly error?: CombinedError } | null
}

export interface Draft {
  readonly userId: string | null
  readonly shop: PickedShopFragment | null
  readonly title: string
  readonly content: string
  readonly pictures: readonly DraftPicture[]
  /** The note was sent and the outcome is unknown. */
  readonly doubt: boolean
  /** A request is in flight. */
  readonly sending: boolean
}

export const maxPictures = 9

const key = 'tandian.draft'
const maxParallel = 2 // parallel uploads
const empty: Draft = {
  userId: null,
  shop: null,
  title: '',
  content: '',
  pictures: [],
  doubt: false,
  sending: false,
}

const store = createStore<Draft>(read())
const files = new Map<string, File>()
const uploads = new Map<string, AbortController>()
let last = 0

store.subscribe(() => {
  const draft = store.get()
  const kept = {
    ...draft,
    sending: false,
    pictures: draft.pictures.filter(({ url }) => url !== null),
  }
  safeSessionStorage.setItem(key, JSON.stringify(kept))
})

/** Returns the draft of the signed-in user. */
export function useDraft(): Draft {
  return useSyncExternalStore(store.subscribe, store.get)
}

export const currentDraft = store.get

/** Starts a draft for a user, unless they already have one. */
export function open(userId: string): void {
  if (store.get().userId === userId) return
  clear()
  change({ userId })
}

export function change(part: Partial<Draft>): void {
  store.set({ ...store.get(), ...part })
}

/** Clears the draft after publishing or discarding it. */
export function clear(): void {
  for (const { key: name } of store.get().pictures) remove(name)
  store.set({ ...empty, userId: store.get().userId })
}

/** Adds pictures up to the limit. It returns false if some were left out. */
export function add(chosen: readonly File[]): boolean {
  const room = maxPictures - store.get().pictures.length
  const taken = chosen.slice(0, Math.max(room, 0)).map((file): DraftPicture => {
    const name = `${Date.now()}-${++last}`
    files.set(name, file)
    const { name: called } = file
    return { key: name, name: called, url: null, preview: null, progress: 0, failure: null }
  })
  change({ pictures: [...store.get().pictures, ...taken] })
  sendNext()
  return chosen.length <= room
}

export function remove(name: string): void {
  uploads.get(name)?.abort()
  uploads.delete(name)
  files.delete(name)
  change({ pictures: store.get().pictures.filter((picture) => picture.key !== name) })
}

/** Moves a picture by one position. */
export function move(name: string, by: -1 | 1): void {
  const pictures = [...store.get().pictures]
  const from = pictures.findIndex((picture) => picture.key === name)
  const [picture] = pictures.splice(from, 1)
  if (picture === undefined) return
  pictures.splice(Math.max(from + by, 0), 0, picture)
  change({ pictures })
}

/** Retries an upload. */
export function retry(name: string): void {
  setPicture(name, { failure: null, progress: 0 })
  sendNext()
}

export function pending({ pictures }: Draft): boolean {
  return pictures.some(({ url, failure }) => url === null && failure === null)
}

/** Resolves when each picture is uploaded or has failed. */
export function uploadsFinished(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (pending(store.get())) return
      forget()
      resolve()
    }
    const forget = store.subscribe(look)
    look()
  })
}

function sendNext(): void {
  if (uploads.size >= maxParallel) return
  const next = store
    .get()
    .pictures.find(
      (picture) => picture.url === null && picture.failure === null && !uploads.has(picture.key),
    )
  if (next === undefined) return
  const controller = new AbortController()
  uploads.set(next.key, controller)
  void send(next.key, controller.signal).finally(() => {
    if (uploads.get(next.key) === controller) uploads.delete(next.key)
    sendNext()
  })
  sendNext()
}

async function send(name: string, signal: AbortSignal): Promise<void> {
  const file = files.get(name)
  const session = currentSession()
  if (file === undefined || session === null) {
    setPicture(name, { failure: {} })
    return
  }
  const { file: small, preview } = await prepareImage(file)
  if (signal.aborted) return
  setPicture(name, { preview })
  const result = await upload(small, session, {
    signal,
    onProgress: (progress) => setPicture(name, { progress }),
  })
  if (signal.aborted) return
  if ('image' in result) {
    const { url, thumbnailUrl } = result.image
    // Equal pictures have equal URLs, and a note can contain each only once.
    if (store.get().pictures.some((picture) => picture.url === url)) remove(name)
    else setPicture(name, { url, preview: thumbnailUrl, progress: 1 })
    files.delete(name)
  } else setPicture(name, { failure: result })
}

function setPicture(name: string, part: Partial<DraftPicture>): void {
  const { pictures } = store.get()
  const at = pictures.findIndex((picture) => picture.key === name)
  const picture = pictures[at]
  if (picture === undefined) return
  const changed = [...pictures]
  changed[at] = { ...picture, ...part }
  change({ pictures: changed })
}

function read(): Draft {
  try {
    const value = JSON.parse(safeSessionStorage.getItem(key) ?? 'null') as Partial<Draft> | null
    return { ...empty, ...value }
  } catch {
    return empty
  }
}
