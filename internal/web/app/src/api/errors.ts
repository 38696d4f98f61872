import type { CombinedError } from '@urql/core'

import { texts } from '@/i18n/texts'

import type { ErrorCode } from './types.gql'

/**
 * One entry of `userErrors`. Its message is in English and for developers. Users see the text for
 * its code.
 */
export interface UserError {
  readonly code: ErrorCode
  readonly message: string
  readonly field?: readonly string[] | null
  readonly retryAfterSeconds?: number | null
}

const useUserErrorTexts = texts<Record<ErrorCode, string>>(
  {
    INVALID_PHONE: 'This is not a phone number.',
    INVALID_CODE: 'The code is wrong or too old. Ask for a new one.',
    INVALID_CREDENTIALS: 'Phone and password do not fit.',
    CODE_THROTTLED: 'A code was sent a moment ago. Please wait a minute.',
    NOT_FOUND: 'It does not exist any more.',
    INVALID_INPUT: 'Something here cannot be taken like this.',
    IMAGE_REJECTED: 'This picture cannot be used.',
    SALE_NOT_STARTED: 'The sale has not opened yet.',
    SALE_ENDED: 'The sale is over.',
    OUT_OF_STOCK: 'Sold out: all pieces are gone.',
    ALREADY_ORDERED: 'You have one already.',
    ORDER_NOT_PAYABLE: 'This order cannot be paid any more.',
    INSUFFICIENT_BALANCE: 'Your balance is too low. Choose another way to pay.',
    ORDER_NOT_CANCELLABLE: 'This order cannot be cancelled any more.',
    ORDER_NOT_REFUNDABLE: 'This order cannot be refunded.',
    ORDER_NOT_REDEEMABLE: 'This order cannot be redeemed: it is not paid, or used.',
    ORDER_NOT_DISPUTABLE: 'You can report this within 24 hours of use. Please contact the shop.',
    OWN_SHOP: 'You can’t buy from your own shop.',
    VOUCHER_OFF_SALE: 'This voucher was taken off sale.',
    VOUCHER_IN_USE: 'Orders that people have forbid this change.',
    ORDER_NOT_COMPLETED: 'The order failed, and nothing was paid. Please try again.',
    CANNOT_FOLLOW_SELF: 'That is you.',
    LIMIT_REACHED: 'You have reached the limit for this.',
  },
  {
    INVALID_PHONE: '这不是有效的手机号。',
    INVALID_CODE: '验证码错误或已过期，请重新获取。',
    INVALID_CREDENTIALS: '手机号或密码不正确。',
    CODE_THROTTLED: '验证码发送过于频繁，请稍后再试。',
    NOT_FOUND: '内容不存在或已被删除。',
    INVALID_INPUT: '填写的内容不符合要求。',
    IMAGE_REJECTED: '这张图片无法使用。',
    SALE_NOT_STARTED: '秒杀还未开始。',
    SALE_ENDED: '秒杀已结束。',
    OUT_OF_STOCK: '已抢光。',
    ALREADY_ORDERED: '你已经抢到过了。',
    ORDER_NOT_PAYABLE: '该订单已无法支付。',
    INSUFFICIENT_BALANCE: '余额不足，请选择其他支付方式。',
    ORDER_NOT_CANCELLABLE: '该订单已无法取消。',
    ORDER_NOT_REFUNDABLE: '该订单无法退款。',
    ORDER_NOT_REDEEMABLE: '该订单无法核销：未支付或已使用。',
    ORDER_NOT_DISPUTABLE: '只能在核销后 24 小时内反馈，请联系商家。',
    OWN_SHOP: '不能购买自己店铺的代金券。',
    VOUCHER_OFF_SALE: '该优惠券已下架。',
    VOUCHER_IN_USE: '已有订单，无法这样修改。',
    ORDER_NOT_COMPLETED: '下单失败，未扣款，请再试一次。',
    CANNOT_FOLLOW_SELF: '不能关注自己。',
    LIMIT_REACHED: '已达到上限。',
  },
)

const useLimitTexts = texts(
  {
    limit: (minutes: number) => `You’ve reached the limit for this. Try again in ${minutes} min.`,
  },
  {
    limit: (minutes: number) => `已达到上限，请 ${minutes} 分钟后再试。`,
  },
)

const useRequestErrorTexts = texts(
  {
    offline: 'You are offline.',
    unreachable: 'The server does not answer.',
    RATE_LIMITED: 'Too many tries. Please wait a moment.',
    UNAVAILABLE: 'Too busy right now. Please try again in a moment.',
    PAYLOAD_TOO_LARGE: 'This is too large.',
    UNAUTHENTICATED: 'Please sign in again.',
    FORBIDDEN: 'This is not yours to see or change.',
    other: 'Something went wrong.',
  },
  {
    offline: '网络已断开。',
    unreachable: '服务器没有响应。',
    RATE_LIMITED: '操作太频繁，请稍后再试。',
    UNAVAILABLE: '系统繁忙，请稍后再试。',
    PAYLOAD_TOO_LARGE: '文件太大。',
    UNAUTHENTICATED: '请重新登录。',
    FORBIDDEN: '没有权限。',
    other: '出了点问题。',
  },
)

/** Returns a function that translates a user error. */
export function useUserErrorText(): (userError: UserError) => string {
  const t = useUserErrorTexts()
  const waits = useLimitTexts()
  // A newer server can return codes that this build does not know.
  return ({ code, message, retryAfterSeconds }) =>
    code === 'LIMIT_REACHED' && retryAfterSeconds
      ? waits.limit(Math.ceil(retryAfterSeconds / 60))
      : ((t as Partial<typeof t>)[code] ?? message)
}

/** Returns a function that translates a failed request. */
export function useRequestErrorText(): (error: CombinedError) => string {
  const t = useRequestErrorTexts()
  return (error) => {
    if (error.networkError !== undefined) return navigator.onLine ? t.unreachable : t.offline
    const code = errorCode(error)
    return code !== null && code in t ? t[code as keyof typeof t] : t.other
  }
}

/**
 * Returns the code of the first GraphQL error, such as RATE_LIMITED; null if there was no response.
 */
export function errorCode(error: CombinedError): string | null {
  const code = error.graphQLErrors[0]?.extensions.code
  return typeof code === 'string' ? code : null
}
