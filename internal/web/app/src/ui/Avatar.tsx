import css from './Avatar.module.css'
import { initialOf } from './graphemes'

interface AvatarProps {
  readonly user: { readonly nickname: string; readonly avatarUrl: string | null }
  /** Pixels. */
  readonly size?: number
}

/** A user's picture or initial. The name is shown next to it or in its label. */
export function Avatar({ user, size = 40 }: AvatarProps) {
  const style = { width: size, height: size, fontSize: size * 0.42 }
  return user.avatarUrl === null ? (
    <span className={css.avatar} style={style} aria-hidden="true" dir="auto">
      {initialOf(user.nickname)}
    </span>
  ) : (
    <img className={css.avatar} style={style} src={user.avatarUrl} alt="" loading="lazy" />
  )
}
